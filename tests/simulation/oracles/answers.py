"""The requests of clients and workers with their answers, decoded once."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from tests.simulation.ledger import Exchange
from tests.simulation.world import World

_decode = msgspec.json.decode
ROOT = "/ojs/v1"
# Words of the message where the server does not know (OJS-ERR-009).
UNCONFIRMED = "did not confirm"
# States of jobs with which a bulk call has done these things.
DONE = {"cancelled": "cancelled", "deleted": "absent", "retried": "available"}


class Call(msgspec.Struct):
    """An exchange whose bodies are decoded."""

    who: str
    method: str
    # Without the root and the query.
    path: str
    body: Any
    sent_at: float
    status: int
    # None without an answer.
    answered_at: float | None
    answer: Any

    @property
    def well(self) -> bool:
        """True if it was answered as done."""
        return 200 <= self.status < 300

    @property
    def took_s(self) -> float:
        """The time until its answer."""
        return float("inf") if self.answered_at is None else self.answered_at - self.sent_at

    @property
    def refused(self) -> bool:
        """True if it was answered that nothing was done, for a reason that is the caller's."""
        return 400 <= self.status < 500

    @property
    def denied(self) -> bool:
        """True if it was answered that nothing was done, for whatever reason."""
        return self.refused or (
            self.status == 503 and UNCONFIRMED not in self.answer["error"]["message"]
        )

    @property
    def unknown(self) -> bool:
        """True if it may have been carried out, and nobody knows."""
        return self.status == 0 or self.status >= 500


class Seen(msgspec.Struct, frozen=True):
    """One job in an answer: its state, and when it had it."""

    job_id: str
    state: str
    attempt: int | None
    call: Call
    # The job was so at a moment between these two.
    since: float

    @property
    def until(self) -> float:
        """The moment of the answer."""
        return self.call.answered_at or self.since


class Answers:
    """All calls, and what they are about."""

    def __init__(self, exchanges: list[Exchange]) -> None:
        self.calls = [_call(exchange) for exchange in exchanges]
        # The calls that would enqueue a job, by its id, with the job as it was sent.
        self.enqueues: dict[str, list[tuple[Call, dict[str, Any]]]] = {}
        # The ids of workers by the processes that have them.
        self.workers: dict[str, str] = {}
        self._keyed: dict[str, float] = {}
        for call in self.calls:
            if isinstance(call.body, dict) and "idempotency_key" in call.body:
                self._keyed.setdefault(call.body["idempotency_key"], call.sent_at)
            for job in _enqueued(call):
                self.enqueues.setdefault(job["id"], []).append((call, job))
            if call.who.startswith("worker") and isinstance(call.body, dict):
                worker_id = call.body.get("worker_id")
                if worker_id is not None:
                    self.workers[call.who] = worker_id

    def request(self, job_id: str) -> dict[str, Any]:
        """Return a job as it was sent; empty if no client has sent it, or if it is not known which
        of different requests has made it."""
        tries = self.enqueues.get(job_id, ())
        requests = [job for _, job in tries]
        if any(other != requests[0] for other in requests[1:]):
            requests = [job for call, job in tries if call.well]
        return requests[0] if requests else {}

    def options(self, job_id: str) -> dict[str, Any]:
        """Return the options of a job as they were sent."""
        options: dict[str, Any] = self.request(job_id).get("options", {})
        return options

    def seen(self) -> Iterator[Seen]:
        """Yield what all answers say about jobs."""
        for call in self.calls:
            if call.answered_at is not None and call.answer is not None:
                yield from _within(call, call.answer, self._asked_at(call))

    def _asked_at(self, call: Call) -> float:
        """Return when a call was sent first: a repeated one may be answered as the first was."""
        key = call.body.get("idempotency_key") if isinstance(call.body, dict) else None
        return call.sent_at if key is None else self._keyed[key]


@lru_cache(maxsize=1)
def of(world: World) -> Answers:
    """Return the answers of all calls; they are read once, at the end."""
    # To a tenant's request the jobs of others are not there (`tenants.py`).
    exchanges = world.ledger.exchanges
    return Answers([one for one in exchanges if one.tenant is None or one.status != 404])


def _call(exchange: Exchange) -> Call:
    path, _, _ = exchange.path.partition("?")
    return Call(
        exchange.who,
        exchange.method,
        path.removeprefix(ROOT),
        _decode(exchange.body) if exchange.body else None,
        exchange.sent_at,
        exchange.status,
        exchange.answered_at,
        _json(exchange.reply),
    )


def _json(reply: bytes) -> Any:
    return _decode(reply) if reply[:1] in (b"{", b"[") else None


def _enqueued(call: Call) -> list[dict[str, Any]]:
    if call.method != "POST" or not isinstance(call.body, dict):
        return []
    match call.path:
        case "/jobs":
            return [call.body]
        case "/jobs/batch" | "/jobs/bulk":
            return list(call.body["jobs"])
    return []


def _within(call: Call, value: Any, since: float) -> Iterator[Seen]:
    if isinstance(value, list):
        for item in value:
            yield from _within(call, item, since)
    elif isinstance(value, dict):
        job_id, state = _named(value)
        if isinstance(job_id, str) and isinstance(state, str):
            # A repeated settlement shows the job as it is, with the attempt of the request.
            attempt = value.get("current_attempt", value.get("attempt"))
            if value.get("repeated") or not isinstance(attempt, int):
                attempt = None
            yield Seen(job_id, state, attempt, call, since)
        for item in value.values():
            if isinstance(item, dict | list):
                yield from _within(call, item, since)


def _named(value: dict[str, Any]) -> tuple[Any, Any]:
    """Return the job that an object is about, and its state then."""
    if value.get("resource_type") == "job":
        return value.get("resource_id"), "absent"
    if "existing_job_state" in value:
        return value["existing_job_id"], value["existing_job_state"]
    job_id = value.get("id") or value.get("job_id")
    # An item of a bulk call has the word for what was done.
    done = DONE.get(str(value.get("status"))) if "index" in value else None
    return job_id, value.get("state") or value.get("current_state") or done
