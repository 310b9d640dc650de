"""Cases of errors: their shape, codes and statuses, and that they affect no other request."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from conformance.case import case
from conformance.play.stage import Stage
from conformance.verdicts.reply import Reply


def _need_code(reply: Reply) -> None:
    code = "code" if reply.has("code") else "error.code"
    reply.expect("number:range(400,499)", {code: "string:nonempty"})


@case("OJS-ERR-001", "OJS-ERR-003", "OJS-ERR-004")
async def shapes(stage: Stage) -> None:
    """Errors have a code, a message, a word about repeating, and the id of their request."""
    job = await stage.enqueue(stage.name())
    for reply in (
        await stage.get(f"jobs/{stage.new_id()}"),
        await stage.call("POST", "jobs", {"args": []}),
        await stage.ack(job),
    ):
        reply.expect(
            "number:range(400,422)",
            {
                "error.code": "string:nonempty",
                "error.message": "string:nonempty",
                "error.retryable": False,
                "error.request_id": {"$eq": reply.headers.get("x-request-id", "")},
            },
        )


@case("OJS-ERR-014")
async def errors_of_unknown_paths(stage: Stage) -> None:
    """The answer to a path that is not there is an error with a code, as any other refusal is."""
    await stage.enqueue(stage.name())
    _need_code(await stage.get("nothing/here"))


@case("OJS-ERR-014")
async def refusals_have_a_code(stage: Stage) -> None:
    """A refusal has a code, in either place that the published texts have for it."""
    job = await stage.enqueue(stage.name())
    for refused in (
        await stage.get(f"jobs/{stage.new_id()}"),
        await stage.call("POST", "jobs", {"args": []}),
        await stage.ack(job),
    ):
        _need_code(refused)


@case("OJS-ERR-002", "OJS-ERR-005", "OJS-ERR-012", "OJS-ERR-013")
async def shapes_and_codes(stage: Stage) -> None:
    """Errors have one shape, and each code has its status and its `retryable`."""
    queue, unknown = stage.name(), stage.new_id()
    job = await stage.enqueue(queue)
    batch = {"jobs": [{"type": "test.case", "args": [], "queue": queue}] * 1001}
    for reply, status, code in (
        (await stage.call("POST", "jobs", raw=b"{"), 400, "invalid_payload"),
        (await stage.push(queue=queue, priority="x"), 400, "invalid_request"),
        (await stage.get(f"jobs/{unknown}"), 404, "not_found"),
        (await stage.call("PUT", "jobs", {}), 405, "method_not_allowed"),
        (await stage.ack(job), 409, "conflict"),
        (await stage.push(queue=queue, id=job["id"], args=[1]), 409, "duplicate"),
        (await stage.push(queue=queue, meta={"a": "x" * 70_000}), 413, "payload_too_large"),
        (await stage.post("jobs/batch", batch), 413, "BATCH_SIZE_EXCEEDED"),
        (await stage.push(queue=queue, retry={"max_attempts": -1}), 422, "validation_error"),
        (await stage.call("GET", "queues", headers={"OJS-Version": "9"}), 422, "unsupported"),
    ):
        reply.error(status, code)
        stage.equal(list(reply.json), ["error"], "members of the answer")
        reply.expect(
            status,
            {
                "error.type": {"$eq": code},
                "error.retryable": False,
                "error.hint": "string:nonempty",
                "error.docs_url": "string:nonempty",
                "error.request_id": {"$eq": reply.headers.get("x-request-id", "")},
            },
        )
        stage.check(reply["error.message"].strip() != code, "a sentence", reply["error.message"])


@case("OJS-ERR-002", "OJS-JOB-010", capability="job_result")
async def errors_that_may_pass(stage: Stage) -> None:
    """A wait that is over is 408 and may be repeated."""
    job = await stage.enqueue(stage.name())
    reply = await stage.get(f"jobs/{job['id']}/result", wait="true", timeout=1)
    reply.error(408, "request_timeout").expect(408, {"error.retryable": True})


@case("OJS-ERR-013")
async def nearest_words(stage: Stage) -> None:
    """The message about an unknown word names the nearest known one."""
    queue = stage.name()
    reply = await stage.push(queue=queue, retry={"on_exhaustion": "dead_leter"})
    stage.check("dead_letter" in reply["error.message"], "dead_letter", reply["error.message"])
    reply = await stage.post("workers/heartbeat", {"worker_id": "w", "state": "quite"})
    stage.check("quiet" in reply["error.message"], "quiet", reply["error.message"])


@case("OJS-ERR-007", "OJS-LIM-004", "OJS-HTP-009", seconds=90, alone=True)
async def no_input_gets_a_500(stage: Stage) -> None:
    """Odd values, in every place of every kind, are accepted or refused, never a 500."""
    queue = stage.name()
    job = await stage.enqueue(queue)
    odd: list[object] = [
        None,
        True,
        -1,
        1e300,
        2**63,
        "",
        "x" * 5000,
        "\u0000",
        "'; DROP TABLE jobs; --",
        [],
        [[]],
        {},
        {"a": {"b": []}},
        "\U0001f680",
    ]
    names = "type args queue id meta priority retry unique scheduled_at expires_at timeout_ms"
    members = [*names.split(), "visibility_timeout", "tags", "options", "pending"]
    calls: list[Callable[[], Awaitable[Reply]]] = []
    for value in odd:
        good = {"type": "test.case", "args": [], "queue": queue}
        calls += [partial(stage.post, "jobs", {**good, name: value}) for name in members]
        calls += [
            partial(stage.post, path, {name: value})
            for path in ("workers/fetch", "workers/ack", "workers/nack", "workers/heartbeat")
            for name in ("queues", "worker_id", "job_id", "count", "error", "attempt", "state")
        ]
        calls += [partial(stage.post, "jobs/batch", {"jobs": value})]
        calls += [partial(stage.post, "jobs", value)]
        text = str(value)[:100]
        calls += [partial(stage.get, "events", after=text)]
        calls += [partial(stage.get, "dead-letter", limit=text)]
    for start in range(0, len(calls), 25):
        for reply in await asyncio.gather(*(call() for call in calls[start : start + 25])):
            stage.check(reply.status < 500, f"no 5xx for {reply.label}", reply.text[:300])
    stage.equal((await stage.look(job))["state"], "available", "state of another job")


@case("OJS-ERR-008", "OJS-IDM-014", "OJS-LIF-016")
async def one_failure_harms_nobody_else(stage: Stage) -> None:
    """Refused requests do not make others fail that arrive at the same time."""
    queue, taken = stage.name(), stage.new_id()
    await stage.enqueue(queue, id=taken)
    for _ in range(5):
        good = [stage.push(queue=queue, args=[number]) for number in range(20)]
        bad = [stage.push(queue=queue, id=taken, args=["other"]) for _ in range(10)]
        late = [stage.ack(taken) for _ in range(10)]
        mixed = [call for pair in zip(good, bad + late, strict=True) for call in pair]
        replies = await asyncio.gather(*mixed)
        for reply in replies[::2]:
            reply.expect(201)
        for reply in replies[1::2]:
            reply.expect(409)
