"""The interface to all operations: writes are committed in groups, reads run in threads."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from math import ceil
from typing import Any, Final, TypeVar

import msgspec

from ojs_server.domain.admin.server_node import Announcement, ServerNode
from ojs_server.domain.admin.vacuum_holder import VacuumHolder, sentence_of
from ojs_server.domain.event_buffer import EventBuffer
from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.environment import Environment
from ojs_server.ops.engine import batch
from ojs_server.ops.engine.acting import ACTOR
from ojs_server.ops.engine.availability import Availability, refusal
from ojs_server.ops.engine.caller import Caller
from ojs_server.ops.engine.contention import Contention
from ojs_server.ops.engine.event_log_reader import ALL, EventLogReader
from ojs_server.ops.engine.group_commit import GroupCommit
from ojs_server.ops.engine.pulse import Pulse
from ojs_server.ops.engine.signs import Signs
from ojs_server.ops.engine.wakeups import Wakeups
from ojs_server.ops.operation import AnyOperation, Operation, Result
from ojs_server.ops.rules import Rules
from ojs_server.store.base import Reader, StaleWrite, Store, StoreUnavailable

READERS: Final = 4
# Default time limit of a read, including its wait for a thread.
READ_S: Final = 5.0
# A healthy transaction does not take this long.
STALLED_S: Final = 5.0

Answer = TypeVar("Answer")

log = logging.getLogger("ojs.store")


class Engine:
    """One node: its store, its group commit, and its waiting fetches."""

    def __init__(
        self,
        store: Store,
        rules: Rules,
        environment: Environment,
        *,
        max_waiting: int = 10_000,
        max_streams: int = 1000,
        stream_buffer: int = 1000,
        read_s: float = READ_S,
    ) -> None:
        self.store = store
        self.rules = rules
        self.read_s = read_s
        self.wakeups = Wakeups()
        self.endings = Wakeups()
        self.availability = availability = Availability(environment.monotonic)
        threads, rng = environment.threads, environment.chance
        loop = asyncio.get_running_loop()

        def ping() -> None:
            store.ping()
            if (reason := store.displaced()) is not None:
                loop.call_soon_threadsafe(availability.lose, reason)

        self.pulse = Pulse(ping, threads.executor(1, "ojs-pulse"))
        self.log_reader = EventLogReader(
            lambda after, limit: self.read(lambda reader: reader.events(after, ALL, limit)),
            lambda: self.read(lambda reader: reader.log_span()),
            self._note_following,
            most=max_streams,
            buffer=stream_buffer,
        )
        self.producers = Wakeups()
        self.signs = Signs()
        # Holders of old row versions at the last check.
        self.vacuum_holders: Sequence[VacuumHolder] = ()
        self.on_due: Callable[[int], None] = lambda moment: None
        # Called with the events of each commit of this node that has some.
        self.on_events: list[Callable[[EventBuffer], None]] = []
        self._reading = threads.executor(READERS, "ojs-reader")
        schedulers = Schedulers()
        contention = Contention(store, rules, environment, schedulers)

        def carry_out(
            ops: list[AnyOperation], begun: batch.UncommittedBatch | None
        ) -> batch.Committed:
            if store.embedded:
                committed = batch.apply(store, rules, rng, ops, schedulers=schedulers, begun=begun)
            else:
                committed = contention.carry_out(ops)
            # Set before the next batch, which may contain a sweep.
            availability.refused_signs += committed.refused_signs
            if committed.doubt is not None:
                availability.doubts += 1
                loop.call_soon_threadsafe(availability.lose, str(committed.doubt))
            return committed

        self._commits = GroupCommit(
            carry_out,
            self._committed,
            environment,
            begin=lambda ops: (
                batch.begin(store, rules, rng, ops, schedulers, long_wait=False)
                if store.embedded and batch.is_small(ops)
                else None
            ),
            max_waiting=max_waiting,
        )

    @property
    def depth(self) -> int:
        """Return the number of operations that wait for their transaction."""
        return self._commits.depth

    def behind_ms(self) -> int:
        """Return for how long the first request has waited that comes after the running batch."""
        return ceil(self._commits.behind_s() * 1000)

    @property
    def writable(self) -> bool:
        """Tell whether the store takes changes, without trying."""
        return self.availability.reason is None and self._commits.busy_s() < STALLED_S

    def run(self, operation: Operation[Result]) -> Coroutine[Any, Any, Result]:
        """Carry out an operation; return its result after the commit, or raise its error."""
        return self._commits.submit(_of_actor(operation))

    def enter(self, operation: AnyOperation, caller: Caller) -> None:
        """Queue one operation, and answer its caller; raises if too many wait already."""
        self._commits.enter(_of_actor(operation), caller)

    async def note_waiting(self, until: int) -> None:
        """Notify other nodes that fetches wait here, until a moment of the store's clock."""
        await self._in_thread(lambda: self.store.note_waiting(until))

    async def announce(self, announcement: Announcement) -> None:
        """Store the announcement of this node."""
        await self._in_thread(lambda: self.store.announce(announcement))

    async def withdraw(self) -> None:
        """Note that this node has stopped."""
        await self._in_thread(self.store.withdraw)

    async def nodes(self) -> list[ServerNode]:
        """Return the nodes of the store that have not stopped."""
        return await self._in_thread(self.store.nodes)

    async def end_silent_transactions(self) -> int:
        """End the transactions of servers that have fallen silent; returns their number."""
        return await self._in_thread(self.store.end_silent_transactions)

    async def find_vacuum_holders(self) -> None:
        """Find out what keeps the database from removing old row versions; warn of what is new."""
        before = {(one.kind, one.name) for one in self.vacuum_holders}
        self.vacuum_holders = await self._in_thread(self.store.vacuum_holders)
        for one in self.vacuum_holders:
            if (one.kind, one.name) not in before:
                log.warning("%s; see `ojs doctor`", sentence_of(one))

    async def _note_following(self, for_ms: int) -> None:
        await self._in_thread(lambda: self.store.note_following(for_ms))

    async def read(self, question: Callable[[Reader], Answer]) -> Answer:
        """Read from the store in a thread."""

        def ask() -> Answer:
            with self.store.reader() as reader:
                return question(reader)

        return await self._in_thread(ask)

    async def _in_thread(self, call: Callable[[], Answer]) -> Answer:
        try:
            async with asyncio.timeout(self.read_s):
                return await asyncio.get_running_loop().run_in_executor(self._reading, call)
        except (StoreUnavailable, StaleWrite, TimeoutError) as error:
            raise refusal(error) from error

    async def close(self) -> None:
        """Finish submitted operations. The store stays open; its owner closes it."""
        self.wakeups.close()
        self.endings.close()
        self.log_reader.close()
        self.producers.close()
        await self._commits.close()
        await asyncio.to_thread(self._reading.shutdown)
        await self.pulse.close()

    def _committed(self, committed: batch.Committed) -> None:
        self._update_availability(committed)
        if committed.fetching:
            self.signs.note(committed.fetching, committed.now)
        if committed.wakes:
            self.wakeups.wake(committed.wakes)
        if committed.freed:
            self.producers.wake(committed.freed)
        if committed.ended:
            self.endings.wake_all(committed.ended)
        if committed.logged:
            self.log_reader.wake(committed.logged)
            for subscriber in self.on_events:
                subscriber(committed.events)
        if committed.due_at is not None:
            self.on_due(committed.due_at)

    def _update_availability(self, committed: batch.Committed) -> None:
        """Update the availability of the store from the outcome of a batch."""
        availability = self.availability
        availability.unknown += committed.unknown
        if committed.looked_up:
            availability.doubts -= 1
        if committed.looked_up or committed.away:
            # Signs of life may be among the operations that got no answer until now, or were
            # refused with them.
            availability.refused_signs += 1
        if committed.refused is not None:
            availability.lose(committed.refused)
        elif committed.logged and not committed.looked_up:
            availability.wrote()


def _of_actor(operation: Operation[Result]) -> Operation[Result]:
    """Return an operation with the person who requests it, if it is an action of a person."""
    actor = ACTOR.get()
    if actor is None or not operation.is_action:
        return operation
    return msgspec.structs.replace(operation, by=actor)
