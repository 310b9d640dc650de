"""The requests of workers in order, each with its time and its answer."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from conformance.played.calls import Kind
from conformance.wire import Exchange, cut


class Asked(msgspec.Struct, kw_only=True):
    """One request. Times are seconds of the judge's monotonic clock."""

    number: int
    at: float
    kind: Kind
    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = {}
    content: bytes = b""
    body: Mapping[str, Any] = {}  # the content, if it is a JSON object
    id: str = ""  # the job or worker that the path names
    ended_at: float | None = None  # time of its answer, or of the break of its connection
    status: int | None = None
    answer: bytes = b""
    trouble: str = ""  # the reason if there was no answer
    given: tuple[str, ...] = ()  # the jobs that the answer handed out

    @property
    def worker_id(self) -> str:
        """The worker's id, from the body or the path; empty if neither has it."""
        named = self.body.get("worker_id")
        if isinstance(named, str):
            return named
        return self.id if self.kind in (Kind.BEAT, Kind.DEREGISTER) else ""

    @property
    def listed(self) -> list[str]:
        """The jobs that a BEAT says are held."""
        for name in ("active_job_ids", "active_jobs"):
            ids = self.body.get(name)
            if isinstance(ids, list):
                return [str(one) for one in ids]
        single = self.body.get("job_id")
        return [single] if isinstance(single, str) else []

    @property
    def well(self) -> bool:
        """True if it was answered with success."""
        return self.status is not None and self.status < 300

    @property
    def label(self) -> str:
        """The name of the request in reports."""
        return f"{self.method} {self.path} (request {self.number + 1})"


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """One ACK or FAIL, sent alone or among others."""

    asked: Asked
    job_id: str
    outcome: Literal["ack", "fail"]
    attempt: Any = None
    worker_id: str = ""
    result: Any = None
    error: Any = None
    requeue: bool = False

    @property
    def at(self) -> float:
        """The time at which it came."""
        return self.asked.at


def settlements(asked: Asked) -> list[Settlement]:
    """The ACKs and FAILs of one request."""
    body = asked.body
    if asked.kind in (Kind.ACK, Kind.FAIL):
        job_id = asked.id or body.get("job_id")
        return [_settlement(asked, job_id, "ack" if asked.kind is Kind.ACK else "fail", body)]
    results = body.get("results") if asked.kind is Kind.SETTLE else None
    return [
        _settlement(asked, one.get("job_id"), "ack" if one.get("outcome") == "ack" else "fail", one)
        for one in (results if isinstance(results, list) else ())
        if isinstance(one, dict)
    ]


def _settlement(
    asked: Asked, job_id: object, outcome: Literal["ack", "fail"], said: Mapping[str, Any]
) -> Settlement:
    return Settlement(
        asked=asked,
        job_id=str(job_id),
        outcome=outcome,
        attempt=said.get("attempt"),
        worker_id=asked.worker_id,
        result=said.get("result"),
        error=said.get("error"),
        requeue=said.get("requeue") is True,
    )


def wants(asked: Asked) -> int:
    """Return the number of jobs that a request asks for."""
    terms = asked.body
    if asked.kind is Kind.SETTLE:
        terms = terms.get("fetch") or {}
        if not isinstance(terms, dict) or not terms:
            return 0
    elif asked.kind is not Kind.FETCH:
        return 0
    count = terms.get("count")
    return count if isinstance(count, int) and not isinstance(count, bool) else 1


class Record:
    """All requests of a case, and questions about them."""

    def __init__(self) -> None:
        self.all: list[Asked] = []
        # An index by job, because a wait for an ACK searches again after every request.
        self._settled: dict[str, list[Settlement]] = {}

    def add(self, asked: Asked) -> None:
        """Take note of a request."""
        self.all.append(asked)
        for one in settlements(asked):
            self._settled.setdefault(one.job_id, []).append(one)

    def of(self, *kinds: Kind, after: int = 0, worker: str = "") -> list[Asked]:
        """The requests of these kinds from a number on, of one worker if it is named."""
        return [
            asked
            for asked in self.all[after:]
            if asked.kind in kinds and (not worker or asked.worker_id == worker)
        ]

    def fetches(self, after: int = 0) -> list[Asked]:
        """The requests that want jobs."""
        return [asked for asked in self.all[after:] if wants(asked)]

    def settled(self, job_id: str = "") -> list[Settlement]:
        """The ACKs and FAILs, of one job if it is named."""
        if job_id:
            return list(self._settled.get(job_id, ()))
        return [one for group in self._settled.values() for one in group]

    def exchanges(self, url: str) -> list[Exchange]:
        """Return the requests and answers in the form of reports, with long bodies cut."""
        return [_exchange(asked, url) for asked in self.all]


def _exchange(asked: Asked, url: str) -> Exchange:
    took = (asked.ended_at or asked.at) - asked.at
    query = f"?{asked.query}" if asked.query else ""
    return Exchange(
        method=asked.method,
        url=f"{url}{asked.path}{query}",
        request_headers=asked.headers,
        request_body=cut(asked.content),
        status=asked.status,
        body=cut(asked.answer),
        duration_ms=round(took * 1000),
        trouble=asked.trouble,
    )
