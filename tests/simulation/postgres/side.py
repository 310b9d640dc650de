"""One of the two nodes: a store of its own behind a relay, and a thread that works with it."""

import os
import selectors
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from ojs_server.environment import Chance
from ojs_server.store.postgres.store import PostgresStore
from ojs_wire.values import uuid7
from tests.ops.bench import environment
from tests.simulation.postgres.messages import Statement, numbers_in
from tests.simulation.postgres.relay import PORT, Link, Relay

Result = TypeVar("Result")
# A circle of waits is broken by the database soon.
_OPTIONS: Final = "-cdeadlock_timeout=10ms"
_DRAWN_EACH: Final = 1 << 20


class Drawn:
    """Chance that begins anew with each transaction, so that a repeated one makes the same ids."""

    def __init__(self, number: int) -> None:
        self._first = self._next = (number + 1) * _DRAWN_EACH

    def begin(self) -> None:
        """Begin anew."""
        self._next = self._first

    def _draw(self, bits: int = 0) -> int:
        self._next += 1
        return self._next

    def chance(self) -> Chance:
        """Return it in the form that the server takes."""
        return Chance(
            self._draw,
            lambda: 0.5,
            lambda now, count: [uuid7(now, self._draw) for _ in range(count)],
        )


class Side:
    """A node of a duel."""

    def __init__(self, name: str, number: int, url: str, selector: selectors.BaseSelector) -> None:
        self.name = name
        self._number = number
        parts = urlsplit(url)
        # The path of a socket is short.
        self._folder = TemporaryDirectory(prefix="ojs-duel-", dir="/tmp")
        folder = Path(self._folder.name)
        self.relay = Relay(selector, folder, (parts.hostname or "", parts.port or 0))
        given = dict(parse_qsl(parts.query))
        query = {
            **given,
            "options": f"{given.get('options', '')} {_OPTIONS}",
            "host": str(folder),
            "port": str(PORT),
            "sslmode": "disable",
            "gssencmode": "disable",
        }
        place = parts._replace(netloc=f"{parts.username}@", query=urlencode(query, quote_via=quote))
        self._url = place.geturl()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"duel-{name}")
        # Tells the selector that the thread is done.
        self._done, self._tell = os.pipe()
        selector.register(self._done, selectors.EVENT_READ, self._read_done)
        self._selector = selector
        self._working: Future[Any] | None = None
        self._store: PostgresStore | None = None
        self.drawn = Drawn(number)
        self.begin()

    def begin(self) -> None:
        """Forget the last play."""
        self.steps: list[str] = []
        # The first position of each transaction that was begun.
        self.bases: list[int] = []
        self.blocked = False
        self._last: tuple[Link, Statement] | None = None
        self.drawn.begin()

    def store(self, now: int) -> PostgresStore:
        """Open the store of a node that has just started."""
        bits = Drawn(self._number).chance()
        return PostgresStore(
            self._url,
            environment=environment(bits),
            clock=lambda: now,
            node=f"node-{self.name}",
            migrations=False,
            readers=1,
        )

    def start(self, work: Callable[[], Result]) -> "Future[Result]":
        """Have the thread do something."""
        os_tell = self._tell

        def told() -> Result:
            try:
                return work()
            finally:
                os.write(os_tell, b".")

        self._working = self._thread.submit(told)
        return self._working

    def _read_done(self) -> None:
        os.read(self._done, 100)
        if self._working is not None:
            # It has been told just before the end of the function.
            with suppress(Exception):
                self._working.result()
            self._working = None

    @property
    def done(self) -> bool:
        """True if its thread has nothing to do."""
        return self._working is None

    @property
    def held(self) -> Link | None:
        """The connection whose next statement waits to be passed on."""
        return next((link for link in self.relay.links if link.holds), None)

    @property
    def sent(self) -> Link | None:
        """The connection whose transaction waits for an answer."""
        for link in self.relay.links:
            if link.sent is not None and link.in_transaction:
                return link
        return None

    @property
    def ready(self) -> bool:
        """True if it can be told to step."""
        return self.sent is None and self.held is not None

    def step(self) -> Statement:
        """Pass on the next statement."""
        link = self.held
        assert link is not None, f"{self.name} has nothing to send"
        if link.requests.statements[0].begins:
            self.drawn.begin()
        statement = link.pass_on()
        self.steps.append(statement.name)
        self._last = link, statement
        return statement

    @property
    def last_link(self) -> Link:
        """The connection on which it has made its last step."""
        assert self._last is not None
        return self._last[0]

    @property
    def holds_locks(self) -> bool:
        """True if its transaction still runs."""
        return any(link.in_transaction and not link.answers.failed for link in self.relay.links)

    @property
    def at_a_turn(self) -> bool:
        """True if its transaction has just begun, or runs no longer."""
        return self.steps[-1:] == ["begun"] or not self.holds_locks

    def note(self) -> str:
        """Note the answer to its last statement; return the code of its error, if it is one."""
        if self._last is None:
            return ""
        link, statement = self._last
        self._last = None
        if statement.name == "begun" and (row := link.answers.row) is not None:
            _, number, offset = numbers_in(row, 3)
            self.bases.append(number + offset)
        return link.answers.error

    def close(self) -> None:
        """End its thread and its relay."""
        self._thread.shutdown()
        self.relay.close()
        self._folder.cleanup()
        self._selector.unregister(self._done)
        os.close(self._done)
        os.close(self._tell)
