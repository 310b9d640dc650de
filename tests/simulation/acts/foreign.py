"""A worker that somebody wrote by hand: it is rude, forgets jobs, repeats itself and confuses
deliveries. What it is told is judged like anything else."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from tests.simulation.acts.caller import Acts, Caller
from tests.simulation.acts.calls import by_hand
from tests.simulation.ledger import Start


class Held(msgspec.Struct):
    """A job that the worker was given."""

    caller: Caller
    worker_id: str
    job_id: str
    attempt: int
    run: Start

    async def ack(self, **other: Any) -> int:
        """Send an ACK, with some members changed."""
        body = {"job_id": self.job_id, "worker_id": self.worker_id, "attempt": self.attempt}
        body |= {"result": {"by": self.worker_id, "attempt": self.attempt}, **other}
        self._end("done")
        status, _ = await by_hand(self.caller, "POST", "/workers/ack", body)
        return status

    async def fail(self, **other: Any) -> int:
        """Send a FAIL, with some members changed."""
        body = {"job_id": self.job_id, "worker_id": self.worker_id, "attempt": self.attempt}
        body |= {"error": {"type": "Rude", "message": f"attempt {self.attempt}"}, **other}
        self._end("failed")
        status, _ = await by_hand(self.caller, "POST", "/workers/nack", body)
        return status

    async def beat(self, *others: str) -> int:
        """Send a BEAT that lists the job, and perhaps others."""
        body = {"worker_id": self.worker_id, "active_job_ids": [self.job_id, *others]}
        status, _ = await by_hand(self.caller, "POST", "/workers/heartbeat", body)
        return status

    def _end(self, outcome: str) -> None:
        if self.run.ended_at is None:
            self.run.outcome, self.run.ended_at = outcome, self.caller.loop.now


Manner = Callable[[Held, dict[str, Any]], Awaitable[Any]]


async def _well(held: Held, what: dict[str, Any]) -> Any:
    await asyncio.sleep(what["work_s"])
    return await held.ack()


async def _twice(held: Held, what: dict[str, Any]) -> Any:
    """The second ACK has another result, which must not count."""
    await asyncio.sleep(what["work_s"])
    first = await held.ack()
    return first, await held.ack(result="again")


async def _at_once(held: Held, what: dict[str, Any]) -> Any:
    """ACK and FAIL at the same time: one of them counts."""
    await asyncio.sleep(what["work_s"])
    return await asyncio.gather(held.ack(), held.fail())


async def _late(held: Held, what: dict[str, Any]) -> Any:
    await asyncio.sleep(what["lease_s"] + what["work_s"])
    return await held.ack()


async def _late_fail(held: Held, what: dict[str, Any]) -> Any:
    await asyncio.sleep(what["lease_s"] + what["work_s"])
    return await held.fail()


async def _wrong_attempt(held: Held, what: dict[str, Any]) -> Any:
    await asyncio.sleep(what["work_s"])
    wrong = await held.ack(attempt=held.attempt + what["by"], result="wrong attempt")
    return wrong, await held.ack()


async def _other_name(held: Held, what: dict[str, Any]) -> Any:
    await asyncio.sleep(what["work_s"])
    wrong = await held.ack(worker_id=f"{held.worker_id}-other", result="wrong worker")
    return wrong, await held.ack()


async def _fails(held: Held, what: dict[str, Any]) -> Any:
    await asyncio.sleep(what["work_s"])
    first = await held.fail()
    await asyncio.sleep(what["by"] * 2)
    return first, await held.fail()


async def _gives_back(held: Held, what: dict[str, Any]) -> Any:
    await asyncio.sleep(what["work_s"] / 4)
    return await held.fail(requeue=True), await held.fail(requeue=True)


async def _snoozes(held: Held, what: dict[str, Any]) -> Any:
    action = {"action": "snooze", "retry_after_ms": round(1000 * what["work_s"])}
    return await held.fail(error={"type": "Later", "message": "later", "details": action})


async def _vanishes(held: Held, what: dict[str, Any]) -> Any:
    return None


async def _beats(held: Held, what: dict[str, Any]) -> Any:
    """Hold the job for longer than its lease by BEATs, which also list a job of others."""
    beats = []
    for _ in range(what["beats"]):
        await asyncio.sleep(what["lease_s"] * 0.6)
        beats.append(await held.beat(what["alien"]))
    return beats, await held.ack()


MANNERS: Mapping[str, Manner] = {
    "well": _well,
    "twice": _twice,
    "at once": _at_once,
    "late": _late,
    "late fail": _late_fail,
    "wrong attempt": _wrong_attempt,
    "other name": _other_name,
    "fails": _fails,
    "gives back": _gives_back,
    "snoozes": _snoozes,
    "vanishes": _vanishes,
    "beats": _beats,
}


async def fetch(caller: Caller, what: dict[str, Any]) -> list[Held]:
    """Fetch once, perhaps twice with the same `fetch_id`, and return the jobs."""
    body = {
        "worker_id": what["worker_id"],
        "queues": what["queues"],
        "count": what["count"],
        "visibility_timeout_ms": round(what["lease_s"] * 1000),
        "wait_ms": what["wait_ms"],
        **what.get("more", {}),
    }
    held: dict[tuple[str, int], Held] = {}
    for _ in range(what.get("fetches", 1)):
        status, answer = await by_hand(caller, "POST", "/workers/fetch", body)
        for job in answer["jobs"] if status == 200 else ():
            run = Start(job["id"], job["attempt"], what["worker_id"], caller.loop.now, "foreign")
            mine = Held(caller, what["worker_id"], job["id"], job["attempt"], run)
            if (job["id"], job["attempt"]) not in held:
                held[job["id"], job["attempt"]] = mine
                caller.ledger.starts.append(run)
    return list(held.values())


async def _work(caller: Caller, what: dict[str, Any]) -> Any:
    """Fetch jobs, and treat each in some manner."""
    manners = what["manners"]
    return await asyncio.gather(
        *(
            MANNERS[manners[number % len(manners)]](one, what)
            for number, one in enumerate(await fetch(caller, what))
        )
    )


async def _settle_unheld(caller: Caller, what: dict[str, Any]) -> Any:
    """Settle a job that this worker never had."""
    return await by_hand(caller, "POST", f"/workers/{what['call']}", what["body"])


ACTS: Acts = {"foreign work": _work, "settle unheld": _settle_unheld}
