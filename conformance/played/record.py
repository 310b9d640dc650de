"""The requests of workers in order, each with its time and its answer."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from conformance.played.calls import Kind
from conformance.verdicts.exchanges import Exchange, cut


class WorkerRequest(msgspec.Struct, kw_only=True):
    """One request. Times are seconds of the judge's monotonic clock."""

    number: int
    at: float
    unread_s: float = 0.0  # time for which it may have waited until the judge read it
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
    delivered: tuple[str, ...] = ()  # the jobs that the answer handed out

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
                return [str(job_id) for job_id in ids]
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

    request: WorkerRequest
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
        return self.request.at


def settlements(request: WorkerRequest) -> list[Settlement]:
    """The ACKs and FAILs of one request."""
    body = request.body
    if request.kind in (Kind.ACK, Kind.FAIL):
        job_id = request.id or body.get("job_id")
        return [_settlement(request, job_id, "ack" if request.kind is Kind.ACK else "fail", body)]
    results = body.get("results") if request.kind is Kind.SETTLE else None
    return [
        _settlement(
            request,
            result.get("job_id"),
            "ack" if result.get("outcome") == "ack" else "fail",
            result,
        )
        for result in (results if isinstance(results, list) else ())
        if isinstance(result, dict)
    ]


def _settlement(
    request: WorkerRequest,
    job_id: object,
    outcome: Literal["ack", "fail"],
    members: Mapping[str, Any],
) -> Settlement:
    return Settlement(
        request=request,
        job_id=str(job_id),
        outcome=outcome,
        attempt=members.get("attempt"),
        worker_id=request.worker_id,
        result=members.get("result"),
        error=members.get("error"),
        requeue=members.get("requeue") is True,
    )


def wants(request: WorkerRequest) -> int:
    """Return the number of jobs that a request asks for."""
    terms = request.body
    if request.kind is Kind.SETTLE:
        terms = terms.get("fetch") or {}
        if not isinstance(terms, dict) or not terms:
            return 0
    elif request.kind is not Kind.FETCH:
        return 0
    count = terms.get("count")
    return count if isinstance(count, int) and not isinstance(count, bool) else 1


class Record:
    """All requests of a case, and questions about them."""

    def __init__(self) -> None:
        self.all: list[WorkerRequest] = []
        # An index by job, because a wait for an ACK searches again after every request.
        self._settled: dict[str, list[Settlement]] = {}

    def add(self, request: WorkerRequest) -> None:
        """Take note of a request."""
        self.all.append(request)
        for settlement in settlements(request):
            self._settled.setdefault(settlement.job_id, []).append(settlement)

    def of(self, *kinds: Kind, after: int = 0, worker: str = "") -> list[WorkerRequest]:
        """The requests of these kinds from a number on, of one worker if it is named."""
        return [
            request
            for request in self.all[after:]
            if request.kind in kinds and (not worker or request.worker_id == worker)
        ]

    def fetches(self, after: int = 0) -> list[WorkerRequest]:
        """The requests that want jobs."""
        return [request for request in self.all[after:] if wants(request)]

    def settled(self, job_id: str = "") -> list[Settlement]:
        """The ACKs and FAILs, of one job if it is named."""
        if job_id:
            return list(self._settled.get(job_id, ()))
        return [settlement for group in self._settled.values() for settlement in group]

    def exchanges(self, url: str) -> list[Exchange]:
        """Return the requests and answers in the form of reports, with long bodies cut."""
        return [_exchange(request, url) for request in self.all]


def _exchange(request: WorkerRequest, url: str) -> Exchange:
    took = (request.ended_at or request.at) - request.at
    query = f"?{request.query}" if request.query else ""
    return Exchange(
        method=request.method,
        url=f"{url}{request.path}{query}",
        request_headers=request.headers,
        request_body=cut(request.content),
        status=request.status,
        body=cut(request.answer),
        duration_ms=round(took * 1000),
        trouble=request.trouble,
    )
