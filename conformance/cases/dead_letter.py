"""Cases of dead letters: what is listed, tried again and deleted."""

import asyncio

from conformance.case import case
from conformance.stage import Stage


@case("OJS-DLQ-001", "OJS-DLQ-002", "OJS-DLQ-004", "OJS-DLQ-005", level=1)
async def every_discarded_job(stage: Stage) -> None:
    """Every discarded job is a dead letter, whole, whatever its policy says."""
    queue = stage.name()
    jobs = [
        await stage.discarded(queue, args=[policy], meta={"kept": policy}, x_own=1, retry=retry)
        for policy, retry in (
            ("discard", {"on_exhaustion": "discard"}),
            ("dead_letter", {"on_exhaustion": "dead_letter"}),
            ("none", {}),
        )
    ]
    expired = await stage.enqueue(queue, expires_at="2001-01-01T00:00:00Z")
    await stage.until_state(expired, "discarded", 3)
    reply = (await stage.get("dead-letter", queue=queue)).expect(200)
    listed = [job["id"] for job in reply["jobs"]]
    wanted = [expired["id"], *(job["id"] for job in reversed(jobs))]
    stage.equal(listed, wanted, "the latest discarded first")
    for job in jobs:
        one = (await stage.get(f"dead-letter/{job['id']}")).expect(200)
        stage.equal(one["job"], dict(await stage.look(job)), "the whole envelope")
        stage.equal(len(one["job.errors"]), 1, "entries of the history")
        stage.equal(one["job.x_own"], 1, "a member of its own")


@case("OJS-DLQ-004", level=1)
async def filters(stage: Stage) -> None:
    """Dead letters can be chosen by queue and by type."""
    first, second = stage.name(), stage.name()
    kind = f"kind.{stage.name('t').replace('-', '_')}"
    one = await stage.discarded(first, type=kind)
    two = await stage.discarded(second, type=kind)
    await stage.discarded(first)
    for query, wanted in (
        ({"type": kind}, [two["id"], one["id"]]),
        ({"type": kind, "queue": first}, [one["id"]]),
        ({"queue": second}, [two["id"]]),
        ({"queue": stage.name()}, []),
    ):
        reply = (await stage.get("dead-letter", **query)).expect(200)
        stage.equal([job["id"] for job in reply["jobs"]], wanted, f"dead letters for {query}")


@case("OJS-DLQ-006", "OJS-DLQ-007", "OJS-LIF-014", "OJS-QUE-002", level=1)
async def trying_again(stage: Stage) -> None:
    """A retried dead letter is available at the end of its queue with fresh attempts."""
    queue = stage.name()
    job = await stage.discarded(queue, expires_at="2099-01-01T00:00:00Z")
    before = await stage.enqueue(queue)
    (await stage.post(f"dead-letter/{job['id']}/retry", {})).expect(
        200,
        {
            "job.id": {"$eq": job["id"]},
            "job.type": "test.case",
            "job.queue": {"$eq": queue},
            "job.state": "available",
            "job.attempt": 0,
            "job.max_attempts": 1,
            "job.re_enqueued_at": "string:datetime",
        },
    )
    seen = await stage.look(job)
    stage.equal(len(seen["errors"]), 1, "entries of the history")
    for name in ("error", "retry_delay_ms", "expires_at", "discarded_at", "completed_at"):
        stage.check(name not in seen, f"no {name}", seen)
    order = [taken["id"] for taken in await stage.fetch(queue, count=2)]
    stage.equal(order, [before["id"], job["id"]], "order")
    (await stage.get(f"dead-letter/{job['id']}")).error(404, "not_found")
    (await stage.fail(job)).expect(200, {"state": "discarded", "attempt": 1})
    stage.equal(len((await stage.look(job))["errors"]), 2, "entries of the history")


@case("OJS-DLQ-008", "OJS-DLQ-009", level=1)
async def deleting(stage: Stage) -> None:
    """A deleted dead letter is gone for good; what is no dead letter is 404 in every call."""
    queue = stage.name()
    job = await stage.discarded(queue)
    (await stage.delete(f"dead-letter/{job['id']}")).expect(
        200, {"deleted": True, "job_id": {"$eq": job["id"]}}
    )
    (await stage.get(f"jobs/{job['id']}")).error(404, "not_found")
    waiting = await stage.enqueue(queue)
    for known in (job["id"], waiting["id"], stage.new_id(), "nothing"):
        for reply in (
            await stage.get(f"dead-letter/{known}"),
            await stage.post(f"dead-letter/{known}/retry", {}),
            await stage.delete(f"dead-letter/{known}"),
        ):
            reply.error(404, "not_found", resource_type="dead_letter_job")
    stage.equal((await stage.look(waiting))["state"], "available", "state")


@case("OJS-DLQ-010", level=1)
async def one_of_two_wins(stage: Stage) -> None:
    """Of calls that retry or delete the same dead letter at once one succeeds."""
    queue = stage.name()
    for _ in range(5):
        job = await stage.discarded(queue)
        calls = [stage.post(f"dead-letter/{job['id']}/retry", {}) for _ in range(5)]
        calls += [stage.delete(f"dead-letter/{job['id']}") for _ in range(5)]
        replies = await asyncio.gather(*calls)
        stage.equal(sum(reply.status == 200 for reply in replies), 1, "calls that succeeded")
        for reply in replies:
            reply.expect((200, 404))
        for left in await stage.fetch(queue, count=5):
            (await stage.ack(left)).expect(200)
