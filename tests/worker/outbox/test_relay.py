"""A relay between an outbox on each database and a real server."""

import asyncio
import traceback
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from ojs_worker.environment import Environment, machine
from ojs_worker.outbox import enqueue_blocking
from ojs_worker.outbox.relay import Relay
from ojs_worker.transport import Reply, Request, Transport
from tests.worker.outbox.conftest import Outbox, Target, drained, until


class Killed(BaseException):
    """The process of a relay ends here."""


class Mortal:
    """An engine and a transport of a relay that is killed at one of its steps."""

    def __init__(self, outbox: Outbox, transport: Transport, step: int) -> None:
        self.engine = sa.create_engine(outbox.url)
        self._transport = transport
        self._left = step
        self._connections: list[Any] = []
        sa.event.listen(self.engine, "connect", lambda made, _: self._connections.append(made))
        for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
            sa.event.listen(self.engine, name, self._step)

    def _step(self, *_: Any) -> None:
        self._left -= 1
        if self._left < 0:
            raise Killed

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        self._step()
        reply = await self._transport.send(request)
        self._step()
        return reply

    async def close(self) -> None:
        """Close nothing."""

    def bury(self) -> None:
        """End the connections, as the system does for a process."""
        for connection in self._connections:
            with suppress(self.engine.dialect.loaded_dbapi.Error):  # ended already
                connection.rollback()
                connection.close()


@pytest.fixture
def later() -> Callable[[], Environment]:
    """Makes environments whose clocks are each a minute ahead of the one before, so that a lease
    has always run out."""
    ahead, real = count(), machine()

    def make() -> Environment:
        ahead_ms = next(ahead) * 60_000
        return msgspec.structs.replace(real, wall_ms=lambda: real.wall_ms() + ahead_ms)

    return make


async def test_a_row_becomes_the_job_that_was_written(outbox: Outbox, target: Target) -> None:
    args = ["ä€🎈", {"n": 2**60 + 1, "f": 0.1, "z": None}, [True, "\\u0000"]]
    options: dict[str, Any] = {"queue": "mail", "priority": 3, "meta": {"a": {"b": 1}}}
    with outbox.engine.begin() as connection:
        job_id = enqueue_blocking(connection, "mail.send", args, **options)
    await drained(outbox, target.transport)
    (job,) = await target.fetched("mail")
    shown = {name: job[name] for name in ("id", "type", "args", "queue", "priority", "meta")}
    assert shown == {"id": job_id, "type": "mail.send", "args": args, **options}
    assert outbox.states() == ["sent"]


@pytest.mark.long
async def test_a_relay_that_is_killed_at_any_step_loses_no_job_and_makes_none_twice(
    outbox: Outbox, target: Target, later: Callable[[], Environment]
) -> None:
    async def survives(step: int) -> bool:
        mortal = Mortal(outbox, target.transport, step)
        relay = Relay(mortal.engine, transport=mortal, batch=2, environment=later())
        running = asyncio.create_task(relay.run())
        await until(lambda: running.done() or outbox.is_sent())
        relay.request_stop()
        (killed,) = await asyncio.gather(running, return_exceptions=True)
        assert killed is None or isinstance(killed, Killed)
        if killed is not None:
            # Cursors of SQLite would keep its locks.
            traceback.clear_frames(killed.__traceback__)
        mortal.bury()
        return killed is None

    for step in count():
        queue = f"q{step}"
        outbox.write({"queue": queue}, {"queue": queue, "priority": 1000}, {"queue": queue})
        alive = await survives(step)
        await drained(outbox, target.transport, environment=later())
        assert [job["args"] for job in await target.fetched(queue)] == [[0], [2]]
        assert outbox.states()[-3:] == ["sent", "failed", "sent"]
        if alive:
            break
    assert step > 20
