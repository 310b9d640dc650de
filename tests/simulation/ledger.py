"""Records from outside of the server: answers to clients, and runs of handlers."""

from collections.abc import Callable
from typing import Any

import msgspec


class Start(msgspec.Struct):
    """One run of a handler."""

    job_id: str
    attempt: int
    worker: str
    at: float
    key: str
    # "done", "failed", "stopped", or what it asked for; None while it runs, or if its process was
    # killed.
    outcome: str | None = None
    ended_at: float | None = None


class Handed(msgspec.Struct, frozen=True):
    """The results of earlier steps that a handler was given."""

    job_id: str
    attempt: int
    parent_results: Any


class Report(msgspec.Struct, frozen=True):
    """A report of progress by a handler; `number` counts those of one run."""

    job_id: str
    attempt: int
    share: float
    number: int
    at: float


class Told(msgspec.Struct):
    """One call of a client: what it wanted, and what it was told."""

    at: float
    client: str
    kind: str
    what: dict[str, Any]
    # "ok", "refused" (with a code), or "unknown" if no answer came.
    outcome: str = "unknown"
    answer: Any = None
    code: str | None = None
    answered_at: float | None = None
    # The place of the newest event when the call was sent and answered, where that is of use.
    head_at: int | None = None
    head_answered: int | None = None


class Exchange(msgspec.Struct):
    """A request, with its answer if one came."""

    who: str
    sent_at: float
    method: str
    path: str
    body: bytes | None
    # The tenant in whose name it was sent.
    tenant: str | None = None
    answered_at: float | None = None
    # 0 without an answer.
    status: int = 0
    reply: bytes = b""


class Frame(msgspec.Struct, frozen=True):
    """A frame of a stream."""

    at: float
    id: str | None
    event: str
    data: bytes


class Followed(msgspec.Struct):
    """A stream of events as its reader sees it."""

    who: str
    # "stream", "pages", "job", "channel", "progress" or "statistics".
    kind: str
    what: dict[str, Any]
    # The place of the log behind which all events must come; None before the stream is open.
    floor: int | None = None
    # Ids of the events in the order in which they came.
    ids: list[str] = []
    # Everything that the stream said.
    frames: list[Frame] = []
    # True if the stream has ended as it should, or why it ended.
    over: bool = False
    refusal: str | None = None
    subject: str | None = None


class Session(msgspec.Struct):
    """A session of a worker, as its client sees it."""

    worker_id: str
    asked_at: float
    # None until the server has said that it is open.
    opened_at: float | None = None
    ended_at: float | None = None
    # True if the client ended it.
    closed: bool = False


class Receipt(msgspec.Struct, frozen=True):
    """A delivery as a target of webhooks received it, and the status of its answer."""

    at: float
    path: str
    headers: dict[str, str]
    body: bytes
    status: int


class Calm(msgspec.Struct, frozen=True):
    """A time in which nothing disturbs: places of the log, and the cron entries at its start."""

    first: int
    last: int
    seconds: float
    entries: list[dict[str, Any]]


class Ledger:
    """The records of a simulation, in their order."""

    def __init__(self) -> None:
        self.starts: list[Start] = []
        self.told: list[Told] = []
        # In the order in which they were sent.
        self.exchanges: list[Exchange] = []
        self.followed: list[Followed] = []
        self.sessions: list[Session] = []
        self.receipts: list[Receipt] = []
        self.handed: list[Handed] = []
        self.reports: list[Report] = []
        # The time in which cron entries fire undisturbed.
        self.calm: Calm | None = None
        # The place of the log from which on limits and directives are taken away.
        self.tidied = 1 << 62
        # The answers to questions at the end, by path.
        self.answers: dict[str, Any] = {}
        # Returns the place of the newest event.
        self.head: Callable[[], int] = lambda: 0
        # Wrongs, as a sentence each.
        self.wrongs: list[str] = []

    @property
    def operations(self) -> int:
        """The number of requests that were answered."""
        return sum(exchange.status > 0 for exchange in self.exchanges)

    def lost(self, *parts: str) -> bool:
        """Tell whether a change got no answer, so that it may be carried out at any time; its path
        has one of these parts."""
        return any(
            exchange.status == 0
            and exchange.method != "GET"
            and any(part in exchange.path for part in parts)
            for exchange in self.exchanges
        )

    def wrong(self, oracle: str, sentence: str) -> None:
        """Note that an oracle has seen something that must not be."""
        self.wrongs.append(f"{oracle}: {sentence}")
