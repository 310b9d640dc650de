"""Cases of schemas: registering, reading and removing them, and judging jobs by them."""

from typing import Any
from urllib.parse import quote

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.features import read_features
from conformance.verdicts.reply import Reply

SCHEMAS = "schema_validation"
MAX_SCHEMA = 65_536
TEXTS = {"type": "array", "minItems": 1, "items": {"type": "string"}}


def _type(stage: Stage) -> str:
    return stage.name("kind").replace("-", "_")


def _of_bytes(count: int) -> dict[str, str]:
    """A schema of so many bytes, as it is sent."""
    return {"title": "x" * (count - len('{"title":""}'))}


def _need_registry(stage: Stage) -> None:
    """Skip the case unless the extension is claimed; the capability has another meaning, too."""
    features = read_features(stage.manifest)
    claimed = not features.known or "schema-registry" in features.extensions
    stage.need(claimed, "it claims no schema registry")


def _version(reply: Reply) -> object:
    """The version of the schema in an answer, be it wrapped or not."""
    schema = reply.expect(200)["schema"]
    return schema["version"] if "job_type" in schema else reply["version"]


async def _register(stage: Stage, kind: str, version: str, schema: object) -> Reply:
    """Register a schema in the published way; any answer is returned."""
    return await stage.post("schemas", {"job_type": kind, "version": version, "schema": schema})


@case("OJS-SCH-001", "OJS-SCH-004", "OJS-SCH-006", capability=SCHEMAS)
async def registering(stage: Stage) -> None:
    """A version is registered once, found by its type, and the newest is the one that counts."""
    _need_registry(stage)
    kind = _type(stage)
    path = f"schemas/{kind}"
    (await stage.get(path)).expect(404)
    for version in ("1.0.0", "2.1.0"):
        (await _register(stage, kind, version, TEXTS)).expect(201, {"schema": "exists"})
    (await _register(stage, kind, "1.0.0", {})).expect(409)
    stage.equal(_version(await stage.get(path)), "2.1.0", "the newest version")
    versions = (await stage.get(f"{path}/versions")).expect(200)["versions"]
    stage.equal([item["version"] for item in versions], ["2.1.0", "1.0.0"], "versions")
    (await stage.delete(f"{path}/2.1.0")).expect((200, 204))
    stage.equal(_version(await stage.get(path)), "1.0.0", "the newest version")
    (await stage.delete(f"{path}/1.0.0")).expect((200, 204))
    (await stage.get(path)).expect(404)


@case("OJS-SCH-019", capability=SCHEMAS)
async def registering_by_path(stage: Stage) -> None:
    """A version is registered, read and removed by its path."""
    _need_registry(stage)
    kind = _type(stage)
    path = f"admin/schemas/{kind}"
    (await stage.get(path)).expect(404)
    body = {"schema": TEXTS}
    (await stage.call("PUT", f"{path}/1", body)).expect((200, 201), {"type": kind, "version": 1})
    stored = (await stage.get(f"{path}/1")).expect(200, {"version": 1})
    stage.equal(stored["schema"], TEXTS, "the schema")
    (await stage.delete(f"{path}/1")).expect(200)
    for gone in (
        await stage.get(path),
        await stage.get(f"{path}/1"),
        await stage.delete(f"{path}/1"),
    ):
        gone.expect(404)


@case("OJS-SCH-020", capability=SCHEMAS)
async def newest_by_path(stage: Stage) -> None:
    """A type has the schema of its newest version by its path, and a version never changes."""
    _need_registry(stage)
    path = f"admin/schemas/{_type(stage)}"
    for version in (1, 2):
        (await stage.call("PUT", f"{path}/{version}", {"schema": TEXTS})).expect((200, 201))
    (await stage.call("PUT", f"{path}/1", {"schema": {}})).expect(409)
    (await stage.get(path)).expect(200, {"version": 2, "schema.type": "array"})
    (await stage.delete(f"{path}/2")).expect(200)
    (await stage.get(path)).expect(200, {"version": 1})


@case(
    *("OJS-SCH-001", "OJS-SCH-002", "OJS-SCH-004", "OJS-SCH-006"),
    *("OJS-SCH-019", "OJS-SCH-020", "OJS-SCH-021"),
    capability=SCHEMAS,
)
async def registering_everywhere(stage: Stage) -> None:
    """A version has one schema under all paths, and its version may be written in several ways."""
    kind = _type(stage)
    path = f"admin/schemas/{kind}"
    (await stage.get(path)).error(404, "not_found")
    written = {"type": "array", "items": [{"type": "object", "required": ["to"]}]}
    first = await stage.call("PUT", f"{path}/1", {"schema": written})
    first.expect(201, {"type": {"$eq": kind}, "version": 1})
    second = await stage.post(
        "schemas", {"job_type": kind, "version": "2.1.0", "schema": TEXTS, "mode": "strict"}
    )
    second.expect(201, {"schema.job_type": {"$eq": kind}, "schema.version": {"$eq": "2.1.0"}})
    for place in (path, f"schemas/{kind}"):
        latest = (await stage.get(place)).expect(200, {"version": {"$eq": "2.1.0"}})
        stage.equal(latest.json["schema"], TEXTS, "the newest schema")
        old = (await stage.get(f"{place}/1")).expect(200, {"version": 1, "type": {"$eq": kind}})
        stage.equal(old.json["schema"], written, "the first schema")
        stage.equal(
            [version["version"] for version in (await stage.get(f"{place}/versions"))["versions"]],
            ["2.1.0", 1],
            "versions",
        )
    (await stage.get(f"schemas/urn:ojs:schema:{kind}:v1")).expect(200, {"version": 1})
    for again in ("1", "1.0", "2.1"):
        (await stage.call("PUT", f"{path}/{again}", {"schema": {}})).error(409, "duplicate")
    listed = await stage.get("schemas", limit=1000)
    stage.equal(
        [schema["version"] for schema in listed["schemas"] if schema["type"] == kind],
        ["2.1.0", 1],
        "versions in the list",
    )
    (await stage.delete(f"{path}/2.1")).expect(200, {"deleted": True})
    (await stage.get(path)).expect(200, {"version": 1})
    (await stage.delete(f"{path}/2.1")).error(404, "not_found")
    (await stage.delete(f"{path}/1")).expect(200)
    for gone in (path, f"{path}/1", f"{path}/versions"):
        (await stage.get(gone)).error(404, "not_found")


@case("OJS-SCH-015", "OJS-SCH-016", capability=SCHEMAS)
async def chosen_uris(stage: Stage) -> None:
    """A schema keeps the URI that its client chose, and is found and removed by it."""
    kind = _type(stage)
    uri = f"https://example.com/{kind}/{stage.new_id()}.json"
    path = f"schemas/{quote(uri, safe='')}"
    given = {"uri": uri, "type": kind, "version": "1.0.0", "schema": TEXTS}
    (await stage.get(path)).error(404, "not_found")
    plain = f"urn:ojs:schema:{kind}"
    for wrong in ("no uri", f"{plain}:v2.0.0", f"{plain}.other:v1.0.0"):
        (await stage.post("schemas", {**given, "uri": wrong})).error(400, "invalid_request")
    (await stage.post("schemas", given)).expect(201, {"schema.uri": {"$eq": uri}})
    usual = quote(f"{plain}:v1.0.0", safe="")
    for place in (path, f"schemas/{usual}"):
        found = (await stage.get(place)).expect(
            200,
            {
                "uri": {"$eq": uri},
                "schema.uri": {"$eq": uri},
                "schema.type": {"$eq": kind},
                "schema.version": {"$eq": "1.0.0"},
                "schema.created_at": "string:datetime",
            },
        )
        stage.equal(found.json["schema"]["schema"], TEXTS, "schema.schema")
    second = {**given, "version": "2.0.0"}
    (await stage.post("schemas", second)).error(409, "duplicate")
    (await stage.delete(path)).expect(200, {"deleted": True, "uri": {"$eq": uri}})
    for again in (stage.get, stage.delete):
        (await again(path)).error(404, "not_found")
    own = {**given, "uri": f"{plain}:v1.0.0"}
    (await stage.post("schemas", own)).expect(201, {"schema.uri": {"$eq": own["uri"]}})


@case("OJS-SCH-001", "OJS-SCH-003", "OJS-SCH-005", capability=SCHEMAS)
async def schemas_that_do_not_compile(stage: Stage) -> None:
    """A text that is no JSON Schema is refused, and nothing is stored."""
    _need_registry(stage)
    kind = _type(stage)
    for wrong in ({"type": "list"}, {"type": "array", "minItems": -1}):
        (await _register(stage, kind, "1.0.0", wrong)).expect((400, 409, 422))
    (await stage.get(f"schemas/{kind}")).expect(404)


@case("OJS-SCH-003", "OJS-SCH-005", "OJS-SCH-022", capability=SCHEMAS)
async def schemas_that_are_refused(stage: Stage) -> None:
    """A schema that cannot be applied is refused with the reason, and nothing is stored."""
    kind = _type(stage)
    path = f"admin/schemas/{kind}/1"
    wrong: list[Any] = [
        {"type": "list"},
        {"minItems": -1},
        {"items": {"$ref": "https://example.com/schema"}},
        {"items": {"$ref": "#/$defs/none"}},
        {"items": {"$ref": "#/title"}, "title": "a text"},
        {"$ref": "#"},
        {"items": {"pattern": "(a+)+$"}},
        {"items": {"pattern": "["}},
        {"$schema": "https://example.com/draft"},
    ]
    for schema in wrong:
        reply = await stage.call("PUT", path, {"schema": schema})
        reply.error(400, "invalid_request")
        stage.check(bool(reply["error.details.schema_error"]), "a schema_error", reply.text)
    for body in ({}, {"schema": None}, {"schema": [1]}, {"schema": TEXTS, "mode": "harsh"}):
        (await stage.call("PUT", path, body)).error(400, "invalid_request")
    large = {"schema": _of_bytes(MAX_SCHEMA + 1)}
    (await stage.call("PUT", path, large)).error(413, "payload_too_large")
    (await stage.call("PUT", f"admin/schemas/{kind}/new", {"schema": {}})).error(
        400, "invalid_request"
    )
    (await stage.get(path)).error(404, "not_found")
    (await stage.call("PUT", path, {"schema": _of_bytes(MAX_SCHEMA)})).expect(201)
    (await stage.delete(path)).expect(200)


@case("OJS-SCH-001", "OJS-SCH-013", "OJS-SCH-014", capability=SCHEMAS)
async def breaking_changes(stage: Stage) -> None:
    """Within a major version a schema may not ask for more."""
    _need_registry(stage)
    kind = _type(stage)
    mail = {"type": "string", "maxLength": 100}
    first = {"type": "object", "required": ["to"], "properties": {"to": mail}}
    broken: tuple[dict[str, Any], ...] = (
        {"required": ["to", "cc"]},
        {"properties": {}},
        {"properties": {"to": {"type": "integer"}}},
        {"properties": {"to": {**mail, "maxLength": 50}}},
        {"additionalProperties": False},
    )
    (await _register(stage, kind, "1.0.0", first)).expect(201)
    for change in broken:
        reply = await _register(stage, kind, "1.1.0", {**first, **change})
        reply.expect((400, 409, 422))
    (await _register(stage, kind, "2.0.0", {**first, **broken[0]})).expect(201)


@case("OJS-SCH-013", "OJS-SCH-014", "OJS-SCH-023", "OJS-SCH-024", capability=SCHEMAS)
async def rules_of_changes(stage: Stage) -> None:
    """Within a major version, or where it is promised, each break is told by rule and place."""
    path = f"admin/schemas/{_type(stage)}"
    mail: dict[str, Any] = {"properties": {"to": {"type": "string"}}, "required": ["to"]}

    def mails(**changes: Any) -> dict[str, Any]:
        return {"schema": {"items": {**mail, **changes}}}

    (await stage.call("PUT", f"{path}/1.0", mails())).expect(201)
    broken: list[tuple[str, str, Any]] = [
        ("required_added", "/items/required", mails(required=["to", "cc"])),
        ("field_removed", "/items/properties/to", mails(properties={})),
        ("type_changed", "/items/type", mails(type="object")),
        ("constraint_narrowed", "/items/minProperties", mails(minProperties=2)),
        ("additional_closed", "/items/additionalProperties", mails(additionalProperties=False)),
        ("keyword_changed", "/items/not", mails(**{"not": {"type": "null"}})),
    ]
    for rule, pointer, body in broken:
        reply = (await stage.call("PUT", f"{path}/1.2", body)).error(422, "validation_error")
        (change,) = reply["error.details.breaking_changes"]
        stage.equal((change["rule"], change["pointer"]), (rule, pointer), "the rule and its place")
    (await stage.get(path)).expect(200, {"version": {"$eq": "1.0"}})
    wider = mails(properties={**mail["properties"], "cc": {"type": "string"}})
    (await stage.call("PUT", f"{path}/1.2", wider)).expect(201)
    between = mails(properties={**wider["schema"]["items"]["properties"], "bcc": {}})
    reply = (await stage.call("PUT", f"{path}/1.1", between)).error(422, "validation_error")
    stage.equal(reply["error.details.compared_with"], "1.1.0", "the older of the two")
    promised = {**mails(required=["cc"]), "compatible_with": ["1.2"]}
    (await stage.call("PUT", f"{path}/2", promised)).error(422, "validation_error")
    unknown = {**mails(), "compatible_with": 7}
    (await stage.call("PUT", f"{path}/2", unknown)).error(400, "invalid_request")
    (await stage.call("PUT", f"{path}/2", mails(required=["cc"]))).expect(201)


@case("OJS-SCH-014", "OJS-SCH-024", capability=SCHEMAS)
async def changed_definitions(stage: Stage) -> None:
    """A definition that asks for more breaks the schema where it is referred to."""
    path = f"admin/schemas/{_type(stage)}"
    mail, none = {"required": ["to"]}, {"type": "null"}

    def schema(**definitions: Any) -> dict[str, Any]:
        refers = {"items": {"$ref": "#/$defs/mail"}, "not": {"$ref": "#/$defs/none"}}
        return {"schema": {**refers, "$defs": {"mail": mail, "none": none, **definitions}}}

    (await stage.call("PUT", f"{path}/1.0", schema())).expect(201)
    (await stage.call("PUT", f"{path}/1.1", schema(other=True))).expect(201)
    broken: list[tuple[str, Any]] = [
        ("required_added", schema(other=True, mail={"required": ["to", "cc"]})),
        ("keyword_changed", schema(other=True, none={"type": ["null", "string"]})),
    ]
    for rule, body in broken:
        reply = (await stage.call("PUT", f"{path}/1.2", body)).error(422, "validation_error")
        rules = [change["rule"] for change in reply["error.details.breaking_changes"]]
        stage.check(rule in rules, rule, rules)


@case("OJS-SCH-007", "OJS-SCH-008", "OJS-SCH-009", "OJS-SCH-010", capability=SCHEMAS)
async def modes(stage: Stage) -> None:
    """A job that does not fit is refused, stored with a warning, or not looked at."""
    queue, kind = stage.name(), _type(stage)
    modes = {1: "strict", 2: "warn", 3: "off"}
    for version, mode in modes.items():
        body = {"schema": TEXTS, "mode": mode}
        (await stage.call("PUT", f"admin/schemas/{kind}/{version}", body)).expect(201)
    job = {"type": kind, "queue": queue, "args": [1]}
    refused = (await stage.push(**job, version="1.0")).error(422, "validation_error")
    (violation,) = refused["error.details.validation_errors"]
    stage.equal(violation["path"], "args[0]", "path of what does not fit")
    many = {"jobs": [{**job, "args": ["a"], "version": 1}, {**job, "version": 1}]}
    batch = (await stage.post("jobs/batch", many)).error(422, "validation_error")
    stage.equal(batch["error.details.index"], 1, "the job at fault")
    (await stage.push(**{**job, "args": ["a"]}, version=1)).expect(201, {"warnings": "absent"})
    warned = (await stage.push(**job, version=2)).expect(201, {"warnings": {"$size": 1}})
    stage.equal(warned["warnings"][0]["validation_errors"][0]["path"], "args[0]", "path")
    for quiet in ({"version": 3}, {}, {"version": 4}):
        (await stage.push(**job, **quiet)).expect(201, {"warnings": "absent"})
    sealed = {"meta": {"ojs_encoded": True}, "version": 1}
    (await stage.push(**job, **sealed)).expect(201, {"warnings": "absent"})
    taken = await stage.fetch(queue, count=9)
    stage.equal(len(taken), 6, "jobs that were stored")


@case("OJS-SCH-011", capability=SCHEMAS)
async def judging_has_an_end(stage: Stage) -> None:
    """A small schema that would take for ever is given up, and the job does not fit."""
    kind = _type(stage)
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {"items": {"$ref": "#/$defs/d0"}, "$defs": {**twice, "d40": {"type": "string"}}}
    body = {"schema": schema, "mode": "strict"}
    (await stage.call("PUT", f"admin/schemas/{kind}/1", body)).expect(201)
    (await stage.push(type=kind, queue=stage.name(), args=["a"])).error(422, "validation_error")
    (await stage.call("DELETE", f"admin/schemas/{kind}/1")).expect(200)


@case("OJS-SCH-012", capability=SCHEMAS)
async def jobs_to_come(stage: Stage) -> None:
    """Workflows and cron entries are refused if strict schemas would refuse their jobs."""
    kind = _type(stage)
    body = {"schema": TEXTS, "mode": "strict"}
    (await stage.call("PUT", f"admin/schemas/{kind}/1", body)).expect(201)
    step = {"type": kind, "args": []}
    chain = {"type": "chain", "steps": [{"type": "kind.a", "args": []}, step]}
    (await stage.post("workflows", chain)).error(422, "validation_error")
    entry = {"name": stage.name("cron"), "expression": "@daily", **step}
    (await stage.post("cron", entry)).error(422, "validation_error")


@case("OJS-SCH-017", "OJS-SCH-018", capability=SCHEMAS)
async def trials(stage: Stage) -> None:
    """Arguments and schemas are tried by the same rules as in earnest, and nothing is stored."""
    queue, kind = stage.name(), _type(stage)
    path = f"schemas/{kind}"
    (await stage.post(f"{path}/validate", {"args": []})).error(404, "not_found")
    first = await stage.post(f"{path}/compatibility", {"schema": TEXTS})
    first.expect(200, {"compatible": True, "breaking_changes": []})
    (await stage.get(path)).error(404, "not_found")
    strict = {"schema": TEXTS, "mode": "strict"}
    (await stage.call("PUT", f"{path}/1.0", strict)).expect(201)
    for place in (path, f"admin/{path}"):
        fits = await stage.post(f"{place}/validate", {"args": ["a"]})
        fits.expect(200, {"valid": True, "validation_errors": [], "mode": {"$eq": "strict"}})
        wrong = (await stage.post(f"{place}/validate", {"args": [7]})).expect(200, {"valid": False})
        reply = (await stage.push(queue=queue, type=kind, args=[7])).error(422, "validation_error")
        stage.equal(
            wrong["validation_errors"], reply["error.details.validation_errors"], "what is wrong"
        )
        unknown = await stage.post(f"{place}/validate", {"args": [], "version": 7})
        unknown.error(404, "not_found")
        (await stage.post(f"{place}/validate", {"args": {}})).error(400, "invalid_request")
    narrower = {"schema": {**TEXTS, "minItems": 2}}
    found = await stage.post(f"{path}/compatibility", narrower)
    found.expect(200, {"compatible": False, "older": {"$eq": "1.0.0"}, "newer": {"$eq": "1.1.0"}})
    reply = await stage.call("PUT", f"{path}/1.1", narrower)
    broken = reply.error(422, "validation_error")["error.details.breaking_changes"]
    stage.equal(found["breaking_changes"], broken, "what it breaks")
    next_major = await stage.post(f"{path}/compatibility", {**narrower, "version": 2})
    next_major.expect(200, {"compatible": True})
    bad = await stage.post(f"{path}/compatibility", {"schema": {"type": "nothing"}})
    bad.error(400, "invalid_request")
    versions = (await stage.get(f"{path}/versions"))["versions"]
    stage.equal([version["version"] for version in versions], ["1.0"], "versions")
    (await stage.call("PUT", f"{path}/1.1", {"schema": TEXTS})).expect(201)
    stored = await stage.post(f"{path}/compatibility", {**narrower, "version": "1.1"})
    stored.expect(200, {"compatible": False, "older": {"$eq": "1.0.0"}})
