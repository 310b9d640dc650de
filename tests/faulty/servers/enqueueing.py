"""Faults of enqueueing: one job, batches, and requests that are sent twice."""

import asyncio
import re
from typing import Any, Final

import msgspec
from msgspec.structs import replace as replaced

from ojs_server import cli
from ojs_server.domain import fields
from ojs_server.domain.errors import Duplicate, OjsError
from ojs_server.domain.jobs import request_shape, validate
from ojs_server.domain.jobs.job import Job
from ojs_server.domain.jobs.options import KNOWN
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.domain.jobs.version_routing import Routing
from ojs_server.http import dialects
from ojs_server.http.call import Call
from ojs_server.http.jobs import batches
from ojs_server.http.jobs import enqueue as enqueue_calls
from ojs_server.http.schemas import registry as schema_calls
from ojs_server.http.schemas import trials as schema_trials
from ojs_server.ops import unit_of_work
from ojs_server.ops.jobs import enqueue
from ojs_server.ops.schemas import registry as schema_ops
from ojs_wire.values import JOB_TYPE
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import V1, change_answer, change_request, drop_header

JOBS = "/jobs"
BATCH = "/jobs/batch"


@fault("OJS-ENQ-003")
def answers_come_before_the_disk() -> None:
    """Jobs are kept in memory only, and a restart loses those that were answered."""
    wrap(cli, "open_store", lambda opened: lambda _, **more: opened(":memory:", **more))


@fault("OJS-ENQ-036")
def options_are_outranked() -> None:
    """An option at the top level wins over the one in `options`."""

    def outrank(body: dict[str, Any], _: Call) -> None:
        options = body.get("options")
        if isinstance(options, dict):
            options.update({name: body[name] for name in options if name in body})

    change_request(JOBS, outrank)


@fault("OJS-ENQ-032")
def outranked_members_are_not_read() -> None:
    """A member that `options` outrank may be anything."""

    def drop(body: dict[str, Any], _: Call) -> None:
        options = body.get("options")
        for name in options if isinstance(options, dict) else ():
            body.pop(name, None)

    change_request(JOBS, drop)


@fault("OJS-ENQ-018")
def batches_forget_when() -> None:
    """A batch takes no notice of `scheduled_at`."""

    def forget(body: dict[str, Any], _: Call) -> None:
        for job in body["jobs"]:
            job.get("options", {}).pop("scheduled_at", None)

    change_request(BATCH, forget)


@fault("OJS-ENQ-018")
def batches_forget_limits() -> None:
    """A batch takes no notice of `timeout_ms` and `expires_at`."""

    def forget(body: dict[str, Any], _: Call) -> None:
        for job in body["jobs"]:
            for name in ("timeout_ms", "expires_at"):
                job.get("options", {}).pop(name, None)

    change_request(BATCH, forget)


@fault("OJS-SCH-008")
def strict_schemas_only_warn() -> None:
    """A job that a strict schema refuses is stored with a warning."""
    after(schema_ops, "applying", lambda mark, *_: mark and replaced(mark, mode="warn"))


@fault("OJS-SCH-007")
def the_newest_schema_counts_for_every_version() -> None:
    """A job with a version is held to the newest schema."""
    put(schema_ops, "applying", lambda marks, _: marks[0])


@fault("OJS-SCH-017")
def trials_fit() -> None:
    """Arguments that are tried fit every schema."""
    after(schema_trials, "is_sealed", lambda *_: True)


@fault("OJS-SCH-018")
def trials_break_nothing() -> None:
    """A schema that is tried breaks no other."""
    put(schema_trials, "breaks", lambda *_: None)


@fault("OJS-SCH-023")
def schemas_are_compared_with_older_ones_only() -> None:
    """A version may break the one just above it."""
    after(schema_ops, "neighbours", lambda found, *_: (found[0], None))


@fault("OJS-SCH-014")
def required_fields_may_be_added() -> None:
    """A minor version of a schema may add a required field."""
    after(
        schema_ops,
        "breaches",
        lambda found, *_: [one for one in found if one.rule != "required_added"],
    )


@fault("OJS-SCH-015")
def chosen_uris_are_forgotten() -> None:
    """A schema has the usual URI, whatever its client chose."""
    after(schema_calls, "registered", lambda schema, *_: replaced(schema, chosen_uri=None))


@fault("OJS-SCH-016")
def schemas_of_uris_are_flat() -> None:
    """The schema of a URI is answered as that of a type is."""
    put(dialects, "schema_answer", lambda schema: schema)


@fault("OJS-VER-011")
def shares_do_not_count() -> None:
    """All versions of a routing get as many jobs."""

    def evened(routing: Routing) -> Routing:
        return replaced(routing, rules=tuple(replaced(one, weight=1) for one in routing.rules))

    wrap(
        unit_of_work,
        "routed",
        lambda real: (
            lambda routings, *more: real(
                {kind: evened(one) for kind, one in routings.items()}, *more
            )
        ),
    )


@fault("OJS-ENQ-007")
def metadata_is_dropped() -> None:
    """`options.metadata` is not merged into meta."""

    def drop(body: dict[str, Any], _: Call) -> None:
        if isinstance(options := body.get("options"), dict):
            options.pop("metadata", None)

    change_request(JOBS, drop)


@fault("OJS-ENQ-011")
def nobody_waits_for_activation() -> None:
    """`pending` is ignored."""
    change_request(JOBS, lambda body, _: body.get("options", {}).pop("pending", None))


@fault("OJS-ENQ-040")
def wrong_members_are_not_named() -> None:
    """The details of a refusal do not name the member."""
    change_answer(f"{V1}/jobs", lambda body: body["error"].pop("details", None), status=400)


@fault("OJS-ENV-038")
def capitals_are_accepted() -> None:
    """Types of jobs may have capital letters."""
    insensitive = re.compile(JOB_TYPE.pattern, re.ASCII | re.IGNORECASE)
    put(fields, "JOB_TYPE", insensitive)


@fault("OJS-ENV-011")
def own_members_are_dropped() -> None:
    """Members of a job that the protocol does not know are not stored."""
    wrap(
        request_shape,
        "_spec",
        lambda spec: (
            lambda body, *more: spec(
                {name: value for name, value in body.items() if name in KNOWN}, *more
            )
        ),
    )


@fault("OJS-ENV-041")
def large_numbers_are_rounded() -> None:
    """Integers pass through a floating point number."""

    def rounded(value: Any) -> Any:
        if isinstance(value, list):
            return [rounded(item) for item in value]
        return float(value) if type(value) is int else value

    change_request(JOBS, lambda body, _: body.update({"args": rounded(body.get("args"))}))


_STORING: Final[set["asyncio.Task[Any]"]] = set()


@fault("OJS-ENQ-019")
def batches_are_stored_in_part() -> None:
    """Of a batch with a wrong job the good ones are stored."""

    def store_good(body: dict[str, Any], call: Call) -> None:
        drafts = []
        for job in body["jobs"] if isinstance(body.get("jobs"), list) else ():
            try:
                drafts.append(parse_draft(job))
            except OjsError:
                continue
        if drafts and len(drafts) < len(body["jobs"]):
            stored = call.server.engine.run(enqueue.Enqueue(tuple(drafts)))
            _STORING.add(asyncio.ensure_future(stored))

    change_request(BATCH, store_good)


@fault("OJS-ENQ-022")
def batches_have_no_limit() -> None:
    """A batch of more than a thousand jobs is accepted."""
    put(batches, "MAX_BATCH", 10_000)


@fault("OJS-ENQ-024")
def batches_are_turned_round() -> None:
    """The jobs of a batch are stored from behind."""
    change_request(BATCH, lambda body, _: body.get("jobs", []).reverse())


@fault("OJS-IDM-002")
def keys_are_not_heard() -> None:
    """`Idempotency-Key` is ignored."""
    drop_header("idempotency-key")


@fault("OJS-IDM-003")
def keys_take_any_request() -> None:
    """A key is good for a different request as well."""
    put(enqueue_calls, "hash_of", lambda body: b"")


@fault("OJS-IDM-014")
def known_ids_are_refused() -> None:
    """An equal request with a known id is a duplicate."""

    def refuse(verdict: object, *_: object) -> object:
        return verdict if verdict is None else Duplicate("this id is known")

    after(enqueue, "_known_id", refuse)


@fault("OJS-IDM-007")
def repetitions_are_not_told() -> None:
    """The answer to a repeated enqueue does not say so."""
    change_answer(f"{V1}/jobs", lambda body: body.pop("deduplicated", None), status=200)


@fault("OJS-LIF-003")
def later_jobs_come_at_once() -> None:
    """A job with a time in the future is available."""

    def now(template: Job, *_: object) -> Job:
        if template.state != "scheduled":
            return template
        return msgspec.structs.replace(template, state="available", due_at=template.expires_at)

    after(unit_of_work, "template_of", now)


@fault("OJS-ENQ-031")
def requests_are_not_recorded() -> None:
    """A job does not say which request brought it."""
    put(validate, "recorded", lambda meta, request_id: meta)


@fault("OJS-ENQ-031")
def producers_are_corrected() -> None:
    """The request's id takes the place of what the producer said."""
    put(
        validate,
        "recorded",
        lambda meta, request_id: {**meta, "request_id": request_id} if request_id else meta,
    )
