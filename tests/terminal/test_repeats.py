"""Calls of the command are repeated for a short time, where that is safe."""

from collections.abc import Callable

import msgspec
import pytest

from ojs_cli.server import Server
from ojs_cli.session import DEADLINE_S, Session
from ojs_worker.environment import machine
from ojs_worker.errors import RateLimited, ServerTrouble, Unreachable
from ojs_worker.transport import Reply, Request

WELL, BUSY, FULL = Reply(200, b"{}"), Reply(503, b""), Reply(429, b"", 1.0)


class Scripted:
    """A blocking transport with these answers, and a stopwatch that its pauses move."""

    def __init__(self, *answers: Reply | Unreachable) -> None:
        self._answers = list(answers)
        self.requests = 0
        self.slept = 0.0

    def send(self, request: Request) -> Reply:
        self.requests += 1
        answer = self._answers[0] if len(self._answers) == 1 else self._answers.pop(0)
        if isinstance(answer, Unreachable):
            raise answer
        return answer

    def sleep(self, seconds: float) -> None:
        self.slept += seconds

    def close(self) -> None: ...


Send = Callable[[str, Scripted], None]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Send:
    """Sends a call over a scripted transport, without waiting."""

    def send(method: str, scripted: Scripted) -> None:
        monkeypatch.setattr("time.sleep", scripted.sleep)
        environment = msgspec.structs.replace(machine(), monotonic=lambda: scripted.slept)
        server = Server(scripted, "u", deadline_s=DEADLINE_S, environment=environment)
        server.call(method, "/queues")

    return send


REFUSED, LOST = Unreachable("refused", sent=False), Unreachable("lost", sent=True)


@pytest.mark.parametrize(
    ("method", "first"),
    [
        *(("GET", first) for first in (REFUSED, LOST, BUSY, FULL)),
        *(("POST", first) for first in (REFUSED, FULL)),
    ],
)
def test_a_short_outage_is_not_noticed(call: Send, method: str, first: Reply | Unreachable) -> None:
    scripted = Scripted(first, WELL)
    call(method, scripted)
    assert scripted.requests == 2


@pytest.mark.parametrize(
    ("first", "error"),
    [(LOST, Unreachable), (BUSY, ServerTrouble), (Reply(429, b"", 9.0), RateLimited)],
)
def test_what_cannot_be_repeated_is_said_at_once(
    call: Send, first: Reply | Unreachable, error: type[Exception]
) -> None:
    scripted = Scripted(first)
    with pytest.raises(error):
        call("POST", scripted)
    assert scripted.requests == 1


def test_a_server_that_is_not_there_is_said_after_a_few_seconds(call: Send) -> None:
    scripted = Scripted(REFUSED)
    with pytest.raises(Unreachable):
        call("GET", scripted)
    assert 1 < scripted.slept <= DEADLINE_S


def test_several_urls_are_tried_in_turn() -> None:
    session = Session({"OJS_URL": "http://127.0.0.1:9,http://127.0.0.1:10", "OJS_DEADLINE": "0"})
    with pytest.raises(Unreachable, match=r":9: .*; .*:10: "):
        session.server.get("/queues")
    session.close()
