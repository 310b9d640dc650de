"""The history of a round: every exchange of its clients with the servers, on one clock.

All clients live in one process and note an exchange before its first byte leaves and after its
last byte was read. So whatever the servers did for it was done between `sent` and `ended`.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

import msgspec


class Act(StrEnum):
    """The calls that change something."""

    ENQUEUE = "ENQUEUE"
    FETCH = "FETCH"
    ACK = "ACK"
    FAIL = "FAIL"
    BEAT = "BEAT"


class Fate(StrEnum):
    """An exchange as its client knows it."""

    ANSWERED = "answered"
    # The server said that it cannot tell, or that it could not: 5xx.
    UNAVAILABLE = "unavailable"
    # The connection broke, or the client waited too long, after the request had left.
    BROKEN = "broken"
    # No connection: the server never heard of it.
    UNSENT = "unsent"


class Handed(msgspec.Struct, frozen=True):
    """A job in the answer to a FETCH. Jobs go by the name that is their argument."""

    job: str
    id: str
    attempt: int


class Exchange(msgspec.Struct):
    """One try of one call. A try whose client ended before its answer stays `BROKEN`."""

    act: Act
    client: str
    # The job's name; of a FETCH, its `fetch_id`.
    about: str
    sent: float
    attempt: int = 0
    node: int = 0
    ended: float | None = None
    fate: Fate = Fate.BROKEN
    status: int = 0
    # The error in the servers' or in the system's words.
    said: str = ""
    # An earlier try of the same call may have been carried out.
    in_doubt: bool = False
    # The state that a refusal says the job is in.
    state: str = ""
    id: str = ""
    handed: tuple[Handed, ...] = ()
    # The jobs that a BEAT said are lost.
    lost: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """The answer was 2xx."""
        return self.fate is Fate.ANSWERED and 200 <= self.status < 300

    @property
    def refused(self) -> bool:
        """The answer was a refusal, so that this try changed nothing."""
        return self.fate is Fate.ANSWERED and not self.accepted

    @property
    def unknown(self) -> bool:
        """True if the call may have taken effect although no answer said so."""
        return self.fate in (Fate.UNAVAILABLE, Fate.BROKEN)


class Strike(msgspec.Struct, frozen=True):
    """A kill, and the work that it met."""

    kind: str
    at: float
    writes: int
    commits: int


# A FETCH may wait for a job, and a BEAT carries nothing that must not be lost.
WRITES: Final = frozenset({Act.ENQUEUE, Act.ACK, Act.FAIL})


class History:
    """Collects exchanges and kills, and wakes tasks that wait for a number of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.exchanges: list[Exchange] = []
        self.strikes: list[Strike] = []
        self.writes_in_flight = 0
        # Of those that were sent after the last kill.
        self.writes_accepted = 0
        self._clock = clock
        self._begun = clock()
        self._waiting: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []

    def now(self) -> float:
        """Seconds since the history began."""
        return self._clock() - self._begun

    def begin(
        self, act: Act, client: str, about: str, *, attempt: int = 0, node: int = 0
    ) -> Exchange:
        """Note that a request is about to leave."""
        exchange = Exchange(act, client, about, self.now(), attempt=attempt, node=node)
        self.exchanges.append(exchange)
        self.writes_in_flight += act in WRITES
        self._wake()
        return exchange

    def end(self, exchange: Exchange, fate: Fate, status: int = 0, said: str = "") -> None:
        """Note that its answer was read, or that there will be none."""
        exchange.ended = self.now()
        exchange.fate = fate
        exchange.status = status
        exchange.said = said
        self.writes_in_flight -= exchange.act in WRITES
        since = self.strikes[-1].at if self.strikes else 0.0
        if exchange.act in WRITES and exchange.accepted and exchange.sent >= since:
            self.writes_accepted += 1
        self._wake()

    def strike(self, kind: str, commits: int) -> None:
        """Note that a kill is about to come."""
        self.strikes.append(Strike(kind, self.now(), self.writes_in_flight, commits))
        self.writes_accepted = 0

    async def reach(self, met: Callable[[], bool], within_s: float) -> None:
        """Wait until a condition holds that exchanges bring about."""
        if met():
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((met, future))
        try:
            await asyncio.wait_for(future, within_s)
        finally:
            self._waiting = [one for one in self._waiting if one[1] is not future]

    def _wake(self) -> None:
        for met, future in self._waiting:
            if not future.done() and met():
                future.set_result(None)


def told(history: Sequence[Exchange], strikes: Sequence[Strike], job: str) -> list[str]:
    """Describe a job's history: each exchange about it, and the kills between them."""
    own = [one for one in history if _is_about(one, job)]
    if not own:
        return []
    first, last = own[0].sent, max(one.ended or one.sent for one in own)
    lines = [(one.sent, _line(one, job)) for one in own]
    lines += [
        (one.at, f"{one.at:10.4f}             KILL {one.kind}, {one.writes} writes in flight")
        for one in strikes
        if first - 1 <= one.at <= last
    ]
    return [line for _, line in sorted(lines)]


def _is_about(exchange: Exchange, job: str) -> bool:
    if exchange.act is Act.FETCH:
        return any(one.job == job for one in exchange.handed)
    return exchange.about == job or job in exchange.lost


def _line(one: Exchange, job: str) -> str:
    ended = "  (never)" if one.ended is None else f"{one.ended:9.4f}"
    words = [f"{one.sent:10.4f} to {ended}", one.act, "by", one.client, f"at node {one.node}:"]
    words.append(str(one.status) if one.status else one.fate)
    if one.act is Act.FETCH:
        attempts = [str(handed.attempt) for handed in one.handed if handed.job == job]
        words.append(f"handed it out as attempt {', '.join(attempts)} ({one.about})")
    elif one.act is Act.BEAT:
        words.append("called it lost")
    elif one.attempt:
        words.append(f"attempt {one.attempt}")
    words += [word for word in (one.id, one.state, one.said) if word]
    return " ".join(words)
