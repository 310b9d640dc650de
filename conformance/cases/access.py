"""Cases of keys and roles; they need a server with the keys that the documentation names."""

import asyncio
import socket

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Reply

ROLES = ("producer", "worker", "viewer", "operator", "admin")
# A key of an application, on servers whose keys can have two roles.
APPLICATION = "worker+producer"
WRONG_KEYS = 10  # limit of an address within a minute


def key_of(role: str) -> str:
    """Return the key of a role on the server of these cases."""
    return f"conformance-key-of-{role}"


def _shown(role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key_of(role)}"} if role else {}


CALLS = (("POST", "jobs"), ("GET", "queues"), ("POST", "workers/fetch"))


@case("OJS-ACC-003", own_server="keys")
async def without_a_key(stage: Stage) -> None:
    """Without a key the answer is 401, and with one it is not."""
    good = {"type": "test.case", "args": []}
    for method, path in CALLS:
        (await stage.call(method, path, good)).expect(401)
    (await stage.call("POST", "jobs", good, headers=_shown("producer"))).expect(201)


@case("OJS-ACC-017", own_server="keys")
async def with_a_wrong_key(stage: Stage) -> None:
    """Without a key, or with an unknown one, the answer is 401 with WWW-Authenticate."""
    good = {"type": "test.case", "args": []}
    for headers in ({}, {"Authorization": "Bearer nobody-knows-this-key"}, {"Authorization": "x"}):
        for method, path in CALLS:
            reply = await stage.call(method, path, good, headers=headers)
            reply.error(401, "unauthenticated")
            stage.check("www-authenticate" in reply.headers, "WWW-Authenticate", reply.headers)


@case("OJS-ACC-019", own_server="keys")
async def with_almost_a_key(stage: Stage) -> None:
    """A part of a key, and a key with more behind it, are no keys."""
    key = key_of("producer")
    for wrong in (key[:-1], f"{key}x", key[1:], key.upper(), "x" * len(key)):
        reply = await stage.call("GET", "queues", headers={"Authorization": f"Bearer {wrong}"})
        reply.error(401, "unauthenticated")


@case("OJS-ACC-004", own_server="keys")
async def what_a_role_may_not_do(stage: Stage) -> None:
    """A worker may not enqueue, and a producer may not fetch."""
    job, fetch = {"type": "test.case", "args": []}, {"queues": [stage.name()]}
    (await stage.call("POST", "jobs", job, headers=_shown("worker"))).expect(403)
    (await stage.call("POST", "workers/fetch", fetch, headers=_shown("producer"))).expect(403)
    (await stage.call("POST", "jobs", job, headers=_shown("producer"))).expect(201)
    (await stage.call("POST", "workers/fetch", fetch, headers=_shown("worker"))).expect(200)


@case("OJS-ACC-004", "OJS-ACC-005", "OJS-ACC-018", own_server="keys")
async def what_roles_may_do(stage: Stage) -> None:
    """Each role may make its calls and no others; an admin may make all."""
    job = {"type": "test.case", "args": []}
    beat = {"worker_id": "w-access"}
    looking = ("viewer", "operator", "admin")
    table = (
        ("GET", "/ojs/manifest", None, ("", *ROLES)),
        ("GET", "health", None, ("", *ROLES)),
        ("GET", "/ready", None, ("", *ROLES)),
        ("POST", "jobs", job, ("producer", "operator", "admin")),
        ("POST", "workers/fetch", {"queues": ["default"]}, ("worker", "admin")),
        ("POST", "workers/heartbeat", beat, ("worker", "admin")),
        ("GET", "queues", None, ROLES),
        ("GET", "events", None, ROLES),
        ("GET", "/metrics", None, ROLES),
        ("GET", "workers/w-access", None, ("worker", *looking)),
        ("GET", "workers", None, looking),
        ("GET", "dead-letter", None, looking),
        ("POST", "queues/default/pause", None, ("operator", "admin")),
        ("POST", "queues/default/resume", None, ("operator", "admin")),
        ("POST", "admin/workers/w-access/quiet", None, ("admin",)),
    )
    (await stage.call("POST", "workers/heartbeat", beat, headers=_shown("worker"))).expect(200)
    for method, path, body, allowed in table:
        for role in ("", *ROLES):
            json = {} if body is None and method == "POST" else body
            headers = _shown(role)
            if json is None:
                reply = await stage.call(method, path, headers=headers)
            else:
                reply = await stage.call(method, path, json, headers=headers)
            if role in allowed:
                label = f"{role or 'nobody'} may {method} {path}"
                stage.check(reply.status < 400, label, reply.text[:200])
            elif role:
                reply.error(403, "permission_denied", required_roles="array:nonempty")
            else:
                reply.error(401, "unauthenticated")


@case("OJS-ACC-018", own_server="keys")
async def what_two_roles_may_do(stage: Stage) -> None:
    """A key with two roles may do what one of them may, and no more."""
    shown = _shown(APPLICATION)
    queue = stage.name()
    made = await stage.call(
        "POST", "jobs", {"type": "a", "args": [], "queue": queue}, headers=shown
    )
    stage.need(made.status != 401, "its keys have one role each")
    made.expect(201)
    beat = {"worker_id": stage.name("w")}
    (await stage.call("POST", "workers/heartbeat", beat, headers=shown)).expect(200)
    for path in (f"queues/{queue}/pause", "admin/workers/nobody/quiet"):
        refused = await stage.call("POST", path, {}, headers=shown)
        refused.error(403, "permission_denied", required_roles="array:nonempty")
    (await stage.call("GET", "dead-letter", headers=shown)).error(403, "permission_denied")


@case("OJS-CRN-036", "OJS-CRN-037", capability="cron", own_server="keys")
async def entries_belong_to_keys(stage: Stage) -> None:
    """A worker registers cron entries and changes its own; an entry with an owner is its key's."""
    free, owned = stage.name(), stage.name()
    owner = {"meta": {"cron_owner": stage.name()}}

    async def put(role: str, name: str, **more: object) -> Reply:
        entry = {"name": name, "cron": "0 0 1 1 *", "type": "test.case", "args": [], **more}
        return await stage.call("POST", "cron", entry, headers=_shown(role))

    async def change(role: str, name: str) -> Reply:
        return await stage.call("PATCH", f"cron/{name}", {"enabled": False}, headers=_shown(role))

    made = await put("worker", owned, **owner)
    stage.need(made.status != 403, "its workers register no cron entries")
    made.expect(201)
    (await put("producer", free)).expect(201)
    (await change("worker", free)).error(403, "permission_denied")
    (await put("worker", free)).error(403, "permission_denied")
    (await change("producer", owned)).error(403, "permission_denied")
    (await put("producer", stage.name(), **owner)).error(403, "permission_denied")
    short = {"meta": {"cron_owner": "a"}}
    (await put("worker", stage.name(), **short)).expect(201)
    (await put("producer", stage.name(), **short)).error(403, "permission_denied")
    shared = stage.name()
    (await put("worker", shared)).expect(201)
    (await change("producer", shared)).expect(200)
    (await change("worker", shared)).expect(200)
    (await put("producer", shared)).expect(200)
    (await change("worker", shared)).error(403, "permission_denied")
    for role, named in (("worker", {owned}), ("producer", {free}), ("operator", {free, owned})):
        listed = (await stage.call("GET", "cron", headers=_shown(role))).expect(200)["crons"]
        shown = {entry["name"] for entry in listed if entry.get("may_change")}
        stage.equal(shown & {free, owned}, named, f"entries that may be changed by the {role}")
    (await change("operator", owned)).expect(200)
    (await change("worker", owned)).expect(200)
    for role, name in (("worker", owned), ("producer", free)):
        (await stage.call("DELETE", f"cron/{name}", headers=_shown(role))).expect(200)


@case("OJS-ACC-007", own_server="keys")
async def payloads_give_no_right(stage: Stage) -> None:
    """The meta of a job gives no right beyond those of the key."""
    meta = {"role": "admin", "Authorization": f"Bearer {key_of('admin')}"}
    body = {"type": "test.case", "args": [], "meta": meta}
    (await stage.call("POST", "jobs", body, headers=_shown("worker"))).expect((401, 403))
    (await stage.call("POST", "jobs", body)).expect((401, 403))
    (await stage.call("POST", "jobs", body, headers=_shown("producer"))).expect(201)


@case("OJS-ACC-020", own_server="keys")
async def arguments_give_no_right(stage: Stage) -> None:
    """Arguments and other members of a request give no right beyond those of its key."""
    body = {"type": "test.case", "args": [{"role": "admin"}], "role": "admin"}
    (await stage.call("POST", "jobs", body, headers=_shown("worker"))).error(
        403, "permission_denied"
    )
    (await stage.call("POST", "jobs", body, headers=_shown("producer"))).expect(201)
    (await stage.call("GET", "workers", headers=_shown("producer"))).error(403, "permission_denied")


@case("OJS-IDM-008", capability="idempotency_keys", own_server="keys")
async def idempotency_keys_are_per_caller(stage: Stage) -> None:
    """An Idempotency-Key counts per caller: two callers with one key get two jobs."""
    queue = stage.name()
    body = {"type": "test.case", "args": [], "queue": queue}
    ids = set()
    for role in ("producer", "operator"):
        headers = {**_shown(role), "Idempotency-Key": "one-key-for-both"}
        ids.add((await stage.call("POST", "jobs", body, headers=headers)).expect(201)["job.id"])
    stage.equal(len(ids), 2, "different jobs")


async def _is_not_printed(stage: Stage, key: str, *secrets: str) -> None:
    assert stage.process is not None
    headers = {"Authorization": f"Bearer {key}"}
    await stage.call("POST", "jobs", {"type": "x"}, headers=headers)
    await stage.call("GET", "queues", headers=headers)
    await stage.process.stop()
    for secret in secrets:
        stage.check(secret not in stage.process.output, "no key in the output", "one is there")


@case("OJS-ACC-006", own_server="keys")
async def keys_are_not_logged(stage: Stage) -> None:
    """No key of the server is in what it prints."""
    await _is_not_printed(stage, key_of("producer"), *map(key_of, ROLES))


@case("OJS-ACC-019", own_server="keys")
async def wrong_keys_are_not_logged(stage: Stage) -> None:
    """No wrong key is in what the server prints."""
    wrong = "a-key-that-nobody-has-and-all-may-see"
    await _is_not_printed(stage, wrong, wrong)


@case("OJS-ACC-012", own_server="keys")
async def sessions_of_pages(stage: Stage) -> None:
    """A page gets a cookie for a key, until it logs out."""
    page = {"Origin": f"http://{stage.host}"}

    async def log_in(key: str) -> Reply:
        return await stage.call("POST", "login", {"key": key}, headers=page)

    stage.need((await log_in("a wrong key")).status != 404, "it has no sessions for pages")
    begun = (await log_in(key_of("operator"))).expect(200).headers.get("set-cookie", "")
    cookie, *attributes = (part.strip() for part in begun.split(";"))
    known = {attribute.lower() for attribute in attributes}
    stage.check({"httponly", "samesite=strict"} <= known, "HttpOnly and SameSite=Strict", begun)
    session = {"Cookie": cookie}
    (await stage.call("GET", "queues", headers=session)).expect(200)
    pause = f"queues/{stage.name()}/pause"
    (await stage.call("POST", pause, {}, headers=session)).error(403, "permission_denied")
    (await stage.call("POST", pause, {}, headers={**session, **page})).expect(200)
    (await stage.call("POST", "logout", headers={**session, **page})).expect(200)
    (await stage.call("GET", "queues", headers=session)).error(401, "unauthenticated")


@case("OJS-ACC-015", "OJS-ACC-016", own_server="keys")
async def wrong_keys_have_to_wait(stage: Stage) -> None:
    """Wrong keys are slowed down in all calls; a right key is always accepted."""
    page = {"Origin": f"http://{stage.host}"}

    async def log_in(key: str) -> Reply:
        return await stage.call("POST", "login", {"key": key}, headers=page)

    async def read(key: str) -> Reply:
        return await stage.call("GET", "queues", headers={"Authorization": f"Bearer {key}"})

    stage.need((await log_in("a wrong key")).status != 404, "it has no sessions for pages")
    for attempt in range(1, WRONG_KEYS):
        refused = await (log_in if attempt % 2 else read)("a wrong key")
        refused.error(401, "unauthenticated")
    for call in (log_in, read):
        slowed = (await call("a wrong key")).error(429, "rate_limited")
        stage.check("retry-after" in slowed.headers, "Retry-After", slowed.headers)
        (await call(key_of("operator"))).expect(200)


@case("OJS-UNI-022", level=4, capability="unique_jobs", own_server="main")
async def fingerprints_are_not_logged(stage: Stage) -> None:
    """The fingerprint of a unique job is in nothing that the server prints."""
    assert stage.process is not None
    queue = stage.name()
    await stage.enqueue(queue, unique={})
    reply = (await stage.push(queue=queue, unique={})).error(409, "duplicate")
    fingerprint = str(reply["error.details.uniqueness_key"])
    await stage.process.stop()
    stage.check(fingerprint not in stage.process.output, "no fingerprint", "it is there")


@case("OJS-ACC-001", own_server="main")
async def open_to_this_machine_only(stage: Stage) -> None:
    """A server without keys cannot be reached by the machine's address in its network."""
    assert stage.process is not None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing; the address is one for documentation
        address = probe.getsockname()[0]
    stage.need(not address.startswith("127."), "this machine has no address but the loopback")
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(address, stage.process.port), 3)
    except OSError:
        return
    writer.close()
    stage.check(False, f"no answer at {address}", "a connection")


@case("OJS-ACC-008", level=1)
async def foreign_pages(stage: Stage) -> None:
    """A page of another origin can neither change nor read anything; one of the own host can."""
    queue, job = stage.name(), {"type": "test.case", "args": []}
    for origin in ("http://example.com", f"http://{stage.host}.example.com", "null"):
        for site in ({}, {"Sec-Fetch-Site": "same-origin"}):
            headers = {"Origin": origin, **site}
            for method, path in (("POST", "jobs"), ("POST", f"queues/{queue}/pause")):
                json = {**job, "queue": queue}
                reply = await stage.call(method, path, json, headers=headers)
                reply.error(403, "permission_denied")
            for path in ("queues", "/ojs/manifest"):
                reply = await stage.call("GET", path, headers=headers)
                reply.error(403, "permission_denied")
                allowed = reply.headers.get("access-control-allow-origin")
                stage.equal(allowed, None, "Access-Control-Allow-Origin")
    own = {"Origin": f"http://{stage.host}"}
    made = await stage.call("POST", "jobs", {**job, "queue": queue}, headers=own)
    taken = await stage.take(queue)
    stage.equal(taken["id"], made.expect(201)["job.id"], "the only job, of a queue that is open")


@case("OJS-ACC-009", own_server="main")
async def foreign_names(stage: Stage) -> None:
    """A server without keys answers only to names of the loopback; other hosts are 403."""
    _, _, port = stage.host.rpartition(":")
    for name in ("example.com", "localhost.example.com", "192.0.2.1"):
        headers = {"Host": f"{name}:{port}"}
        reply = await stage.call("POST", "jobs", {"type": "test.case", "args": []}, headers=headers)
        reply.error(403, "permission_denied")
        (await stage.call("GET", "queues", headers=headers)).error(403, "permission_denied")
    for name in ("localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "[::1]"):
        for host in (name, f"{name}:{port}"):
            (await stage.call("GET", "queues", headers={"Host": host})).expect(200)


@case("OJS-MAN-017", own_server="keys")
async def names_in_the_manifest(stage: Stage) -> None:
    """The manifest names queues and types of jobs only to callers with a key."""
    queue, kind = stage.name(), f"test.{stage.name()}"
    job = {"type": kind, "args": [], "queue": queue}
    (await stage.call("POST", "jobs", job, headers=_shown("producer"))).expect(201)
    for headers in ({}, {"Authorization": "Bearer nobody-knows-this-key"}):
        manifest = (await stage.call("GET", "/ojs/manifest", headers=headers)).expect(200).json
        stage.check("queues" not in manifest and "job_types" not in manifest, "no names", manifest)

    async def are_notified() -> bool:
        for role in ROLES:
            manifest = (
                (await stage.call("GET", "/ojs/manifest", headers=_shown(role))).expect(200).json
            )
            if queue not in manifest.get("queues", ()) or kind not in manifest.get("job_types", ()):
                return False
        return True

    await stage.until(are_notified, 30, "names of the queue and the type in the manifest")
    headers = {**_shown("operator"), "X-OJS-Tenant": stage.name()}
    manifest = (await stage.call("GET", "/ojs/manifest", headers=headers)).expect(200).json
    stage.equal(
        (manifest["queues"], manifest["job_types"]), ([], []), "names for a tenant without jobs"
    )


@case("OJS-MAN-019", own_server="keys")
async def health_in_detail(stage: Stage) -> None:
    """Health in detail counts queues, workers and jobs, for people who look after the server."""
    queue = stage.name()
    job = {"type": "test.case", "args": [], "queue": queue}
    (await stage.call("POST", "jobs", job, headers=_shown("producer"))).expect(201)
    beat = {"worker_id": stage.name("w")}
    (await stage.call("POST", "workers/heartbeat", beat, headers=_shown("worker"))).expect(200)
    pause = await stage.call("POST", f"queues/{queue}/pause", {}, headers=_shown("operator"))
    pause.expect(200)
    for path in ("health/detail", "/health/detail"):
        (await stage.call("GET", path)).error(401, "unauthenticated")
        for role in ("producer", "worker"):
            (await stage.call("GET", path, headers=_shown(role))).error(403, "permission_denied")
        for role in ("viewer", "operator", "admin"):
            (await stage.call("GET", path, headers=_shown(role))).expect(
                200,
                {
                    "status": "ok",
                    "backend.status": "string:nonempty",
                    "uptime_seconds": "number:non_negative",
                    "queues.total": 1,
                    "queues.paused": 1,
                    "workers.total": 1,
                    "workers.active": 1,
                    "workers.stale": 0,
                    "jobs.available": 1,
                    "maintenance": False,
                    "server": {"$type": "object"},
                    "store": {"$type": "object"},
                },
            )
