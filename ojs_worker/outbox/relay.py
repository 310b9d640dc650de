"""The relay: sends the rows of an outbox to a server, in the process of a program or of its own.

    relay = Relay("sqlite:///shop.db", "https://ojs.example.org")
    async with relay: ...

Where several run, one of them sends, and another takes its place when it ends. That only saves
calls: each relay sends the rows of a queue in the order of their ids, and goes on when the server
has them, so that two at once neither make a second job nor change the order.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from datetime import timedelta
from typing import Final, Self, TypeVar, cast

import msgspec

from ojs_worker.client import Client
from ojs_worker.environment import Environment, Pool, machine
from ojs_worker.errors import OjsError, RateLimited
from ojs_worker.outbox.rows import DatabaseError, Engine, Figures, Row, Rows, open_database
from ojs_worker.outbox.sending import Later, NotTaken, Outcome, Sent, send
from ojs_worker.transport import Transport
from ojs_worker.transport.access import Auth
from ojs_worker.transport.backoff import Backoff

log = logging.getLogger("ojs.outbox")

T = TypeVar("T")
MAX_BATCH: Final = 1000
PRUNE_S: Final = 60.0
COUNT_S: Final = 10.0


class Counts(msgspec.Struct):
    """Counts of what one relay did, and the rows as it last counted them."""

    sent: int = 0
    refused: int = 0
    # True while this relay is the one that sends.
    sending: bool = False
    # True if its last turn went well.
    well: bool = False
    figures: Figures = Figures()


class _Pause(msgspec.Struct):
    """A queue that waits: its failures in a row, and when it is tried again."""

    backoff: Backoff
    until_s: float


class Relay:
    """Sends the rows of an outbox to a server, between `start` and `stop` or in `async with`.

    `database` is a URL of SQLAlchemy or an engine with a blocking driver. The server is named as
    for a client. It looks every `poll_s`, sends up to `batch` rows at once, and deletes rows
    `keep_s` after they were sent. `lease_s` after its last look another relay may send; that is
    some times as long as `poll_s` and a call to the server.
    """

    def __init__(
        self,
        database: str | Engine,
        url: str | Sequence[str] | None = None,
        auth: Auth | None = None,
        *,
        server: str | None = None,
        tls: ssl.SSLContext | None = None,
        transport: Transport | None = None,
        poll_s: float = 1.0,
        batch: int = 100,
        keep_s: float = 86_400.0,
        lease_s: float = 10.0,
        environment: Environment | None = None,
    ) -> None:
        if not 1 <= batch <= MAX_BATCH:
            raise ValueError(f"a batch has 1 to {MAX_BATCH} rows, not {batch}")
        self.counts: Final = Counts()
        self.environment: Final = environment or machine()
        self._rows = Rows(open_database(database) if isinstance(database, str) else database)
        self._owns_engine = isinstance(database, str)
        # The relay itself decides when a call is repeated.
        self._client = Client(
            url,
            auth,
            server=server,
            tls=tls,
            transport=transport,
            deadline_s=0,
            environment=self.environment,
        )
        self._poll_s = poll_s
        self._batch = batch
        self._keep_s = keep_s
        self._lease_ms = int(1000 * lease_s)
        self._holder = self.environment.new_id()
        self._backoff = Backoff("send what is in the outbox", self.environment.random)
        self._pauses: dict[str, _Pause] = {}
        self._stopping = asyncio.Event()
        self._pool: Pool | None = None
        self._task: asyncio.Task[None] | None = None
        self._prune_at_s = self._count_at_s = 0.0

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def start(self) -> None:
        """Begin to send, in a task of the running event loop."""
        self._task = asyncio.create_task(self.run(), name="ojs-outbox")

    async def stop(self) -> None:
        """End after the batch that is on its way."""
        self.request_stop()
        if self._task is not None:
            await self._task

    def request_stop(self) -> None:
        """Have `run` end after the batch that is on its way."""
        self._stopping.set()

    async def run(self) -> None:
        """Send until the stop is requested; failures are logged, and tried again."""
        self._pool = self.environment.pool("ojs-outbox")
        log.info("sends the outbox of %s", self._rows.place)
        try:
            while not self._stopping.is_set():
                await self._wait(await self._turn_or_pause())
            await self._return_lease()
        finally:
            self._pool.close()
            await self._client.close()
            if self._owns_engine:
                self._rows.close()

    async def _turn_or_pause(self) -> float:
        """Do one turn, and return the seconds until the next one."""
        try:
            full = await self._turn()
        except Exception as error:
            self.counts.well = False
            if not isinstance(error, OjsError | DatabaseError):
                log.exception("the relay of the outbox has a fault of its own")
            # Of a database's error the driver's part, which is one line.
            reason = getattr(error, "orig", None) or error
            return self._backoff.next_s(reason, getattr(error, "retry_after_s", None))
        self.counts.well = True
        self._backoff.failures = 0
        return 0.0 if full else self._poll_s

    async def _turn(self) -> bool:
        """Send the first rows that wait, if this relay is the one that sends; True if there may be
        more."""
        now_ms = self.environment.wall_ms()
        holds = await self._call(
            lambda: self._rows.hold_lease(self._holder, now_ms, self._lease_ms)
        )
        self.counts.sending = holds
        rows: list[Row] = []
        if holds:
            rows = await self._call(lambda: self._rows.waiting(self._batch, self._paused()))
            async with aclosing(send(self._client, rows)) as outcomes:
                async for outcome in outcomes:
                    await self._note(outcome, rows)
                    if self._stopping.is_set():
                        break
        await self._keep_house()
        return len(rows) == self._batch

    async def _note(self, outcome: Outcome, rows: Sequence[Row]) -> None:
        match outcome:
            case Sent(ids):
                now = self.environment.now()
                await self._call(lambda: self._rows.mark_sent(ids, now))
                self.counts.sent += len(ids)
                if self._pauses:
                    known = set(ids)
                    for queue in {row.queue for row in rows if row.id in known}:
                        self._pauses.pop(queue, None)
            case NotTaken(number, error):
                await self._call(lambda: self._rows.mark_failed(number, error))
                self.counts.refused += 1
                log.error("the job of row %d is refused, and kept as failed: %s", number, error)
            case Later(queue, reason):
                self._pause(queue, reason)

    def _paused(self) -> list[str]:
        now_s = self.environment.monotonic()
        return [queue for queue, pause in self._pauses.items() if pause.until_s > now_s]

    def _pause(self, queue: str, reason: RateLimited) -> None:
        if queue not in self._pauses:
            backoff = Backoff(f"send the outbox's jobs of {queue}", self.environment.random)
            self._pauses[queue] = _Pause(backoff, 0.0)
        pause = self._pauses[queue]
        wait_s = pause.backoff.next_s(reason, reason.retry_after_s)
        pause.until_s = self.environment.monotonic() + wait_s

    async def _keep_house(self) -> None:
        """Delete rows that were sent long ago, and count those that wait, every now and then."""
        now_s = self.environment.monotonic()
        if now_s >= self._count_at_s:
            self.counts.figures = await self._call(self._rows.figures)
            self._count_at_s = now_s + COUNT_S
        if self.counts.sending and now_s >= self._prune_at_s:
            before = self.environment.now() - timedelta(seconds=self._keep_s)
            await self._call(lambda: self._rows.prune(before))
            self._prune_at_s = now_s + PRUNE_S

    async def _return_lease(self) -> None:
        """Let another relay begin at once."""
        try:
            await self._call(lambda: self._rows.release_lease(self._holder))
        except DatabaseError as error:
            log.warning("the lease of the outbox is not returned, and runs out: %s", error)

    async def _call(self, call: Callable[[], T]) -> T:
        assert self._pool is not None
        return cast(T, await self._pool.run(call))

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
