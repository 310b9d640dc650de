"""The operations as the rest of the server calls them: writes in groups, reads in threads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar, overload

from ojs_server.domain.beside import Checkpoint
from ojs_server.domain.delivery import Delivery
from ojs_server.domain.happened import Happened
from ojs_server.domain.job import Change, Job
from ojs_server.domain.schema import Schema
from ojs_server.domain.turns import Rota
from ojs_server.domain.webhook import Webhook
from ojs_server.domain.workers import Worker
from ojs_server.ops import (
    batch,
    beat,
    bulk,
    bulk_enqueue,
    checkpoint,
    claim,
    control,
    cron,
    deliveries,
    enqueue,
    exchange,
    move,
    opening,
    presence,
    priority,
    probe,
    progress,
    rooms,
    routing,
    schemas,
    sessions,
    settle,
    sharers,
    signs,
    sweep,
    webhooks,
    workflow,
)
from ojs_server.ops.availability import Availability, refusal
from ojs_server.ops.contention import Contention
from ojs_server.ops.group_commit import Caller, GroupCommit
from ojs_server.ops.pulse import Pulse
from ojs_server.ops.tail import ALL, Tail
from ojs_server.ops.wakeups import Wakeups
from ojs_server.ops.work import Chance, Rules, chance
from ojs_server.store.base import Reader, Store, StoreUnavailable

READERS: Final = 4
# A read that waits longer, for a thread or for the store, is refused.
READ_S: Final = 20.0
# No transaction takes so long where all is well.
STALLED_S: Final = 5.0

Answer = TypeVar("Answer")


class Engine:
    """One node: its store, its writer, its waiting fetches."""

    def __init__(
        self,
        store: Store,
        rules: Rules,
        *,
        luck: Chance | None = None,
        max_waiting: int = 10_000,
        max_streams: int = 1000,
        stream_buffer: int = 1000,
    ) -> None:
        self.store = store
        self.rules = rules
        self.wakeups = Wakeups()
        self.endings = Wakeups()
        self.availability = availability = Availability()
        self.pulse = Pulse(lambda: store.ping())
        self.tail = Tail(
            lambda after, limit: self.read(lambda reader: reader.events(after, ALL, limit)),
            lambda: self.read(lambda reader: reader.log_span()),
            self._note_following,
            most=max_streams,
            room=stream_buffer,
        )
        self.rooms = Wakeups()
        self.signs = signs.Signs()
        self.on_due: Callable[[int], None] = lambda moment: None
        # What a commit of this node has made happen.
        self.on_events: Callable[[Happened], None] = lambda events: None
        # The event log has grown by a commit of this node.
        self.on_logged: Callable[[], None] = lambda: None
        luck = luck or chance()
        self._reading = ThreadPoolExecutor(READERS, thread_name_prefix="ojs-reader")
        rota = Rota()
        contention = Contention(store, rules, luck, rota)
        loop = asyncio.get_running_loop()

        def carry_out(ops: list[batch.Operation], begun: batch.Begun | None) -> batch.Committed:
            if store.embedded:
                committed = batch.apply(store, rules, luck, ops, rota=rota, begun=begun)
            else:
                committed = contention.carry_out(ops)
            # Before the next batch, which may bring a sweep.
            availability.unheard += committed.unheard
            if committed.doubt is not None:
                availability.doubts += 1
                loop.call_soon_threadsafe(availability.lose, str(committed.doubt))
            return committed

        self._commits = GroupCommit(
            carry_out,
            self._committed,
            begin=lambda ops: (
                batch.begin(store, rules, luck, ops, rota, patient=False)
                if store.embedded and batch.is_small(ops)
                else None
            ),
            max_waiting=max_waiting,
        )

    @property
    def depth(self) -> int:
        """How many operations wait for their transaction."""
        return self._commits.depth

    @property
    def writable(self) -> bool:
        """Tell whether the store takes changes, without trying."""
        return self.availability.reason is None and self._commits.busy_s() < STALLED_S

    @overload
    async def run(self, operation: enqueue.Enqueue) -> enqueue.Enqueued: ...
    @overload
    async def run(self, operation: claim.Claim) -> claim.Deliveries: ...
    @overload
    async def run(self, operation: settle.Ack) -> Change | settle.Repeated: ...
    @overload
    async def run(
        self,
        operation: settle.Fail
        | settle.Cancel
        | settle.Activate
        | settle.Revive
        | settle.Rerun
        | settle.Remove,
    ) -> Change: ...
    @overload
    async def run(self, operation: bulk.Bulk) -> bulk.Done: ...
    @overload
    async def run(self, operation: bulk_enqueue.BulkEnqueue) -> bulk_enqueue.Settled: ...
    @overload
    async def run(self, operation: exchange.Exchange) -> exchange.Exchanged: ...
    @overload
    async def run(self, operation: checkpoint.Save) -> Checkpoint: ...
    @overload
    async def run(self, operation: checkpoint.Clear) -> checkpoint.Cleared: ...
    @overload
    async def run(self, operation: priority.Prioritize) -> Job: ...
    @overload
    async def run(self, operation: progress.Advance) -> progress.Advanced: ...
    @overload
    async def run(self, operation: beat.Beat) -> beat.Beaten: ...
    @overload
    async def run(self, operation: signs.Heard) -> int: ...
    @overload
    async def run(self, operation: presence.Coming) -> presence.Known: ...
    @overload
    async def run(self, operation: presence.Cleanup) -> presence.Cleaned: ...
    @overload
    async def run(
        self, operation: rooms.Join | sessions.OpenSession | sessions.DropSession
    ) -> Worker: ...
    @overload
    async def run(self, operation: rooms.Begin) -> rooms.Begun: ...
    @overload
    async def run(self, operation: sweep.Sweep) -> sweep.Swept: ...
    @overload
    async def run(self, operation: probe.Probe) -> probe.Probed: ...
    @overload
    async def run(self, operation: cron.Register | cron.Amend | cron.Forget) -> cron.Kept: ...
    @overload
    async def run(self, operation: cron.Trigger) -> cron.Triggered: ...
    @overload
    async def run(self, operation: cron.Fire) -> cron.Fired: ...
    @overload
    async def run(self, operation: workflow.Start) -> workflow.Started: ...
    @overload
    async def run(self, operation: workflow.Cancel) -> workflow.Cancelled: ...
    @overload
    async def run(
        self, operation: control.SetPaused | control.Collect | control.Reset
    ) -> control.Controlled: ...
    @overload
    async def run(self, operation: control.Configure) -> control.Configured: ...
    @overload
    async def run(self, operation: control.Maintain) -> control.Maintained: ...
    @overload
    async def run(self, operation: control.Purge | move.Move) -> control.Gone: ...
    @overload
    async def run(self, operation: control.Drop) -> control.Dropped: ...
    @overload
    async def run(self, operation: sharers.Operation) -> sharers.Saved: ...
    @overload
    async def run(self, operation: opening.Open) -> opening.Opened: ...
    @overload
    async def run(self, operation: opening.Override) -> opening.Overridden: ...
    @overload
    async def run(self, operation: routing.SaveRouting | routing.DropRouting) -> routing.Routed: ...
    @overload
    async def run(self, operation: schemas.RegisterSchema) -> Schema: ...
    @overload
    async def run(self, operation: schemas.RemoveSchema) -> None: ...
    @overload
    async def run(
        self,
        operation: webhooks.Subscribe
        | webhooks.AmendWebhook
        | webhooks.RotateSecret
        | webhooks.Unsubscribe,
    ) -> Webhook: ...
    @overload
    async def run(self, operation: webhooks.Replay) -> Delivery: ...
    @overload
    async def run(
        self, operation: deliveries.Spread | deliveries.Report
    ) -> deliveries.Reported: ...
    @overload
    async def run(self, operation: deliveries.Take) -> deliveries.Due: ...
    def run(self, operation: batch.Operation) -> Any:
        """Carry out one operation; answers after its commit, raises what it was refused with."""
        return self._commits.submit(operation)

    def enter(self, operation: batch.Operation, caller: Caller) -> None:
        """Carry out one operation, and tell its caller; raises where too many wait already."""
        self._commits.enter(operation, caller)

    async def note_waiting(self, until: int) -> None:
        """Tell the other nodes that fetches wait here, until a moment of the store's clock."""
        await self._in_thread(lambda: self.store.note_waiting(until))

    async def end_silent_transactions(self) -> int:
        """End the transactions of servers that have fallen silent; answers how many."""
        return await self._in_thread(self.store.end_silent_transactions)

    async def _note_following(self, for_ms: int) -> None:
        await self._in_thread(lambda: self.store.note_following(for_ms))

    async def read(self, question: Callable[[Reader], Answer]) -> Answer:
        """Ask the store something, off the event loop."""

        def ask() -> Answer:
            with self.store.reader() as reader:
                return question(reader)

        return await self._in_thread(ask)

    async def _in_thread(self, call: Callable[[], Answer]) -> Answer:
        try:
            async with asyncio.timeout(READ_S):
                return await asyncio.get_running_loop().run_in_executor(self._reading, call)
        except (StoreUnavailable, TimeoutError) as error:
            raise refusal(error) from error

    async def close(self) -> None:
        """Finish what was submitted. The store stays open; its owner closes it."""
        self.wakeups.close()
        self.endings.close()
        self.tail.close()
        self.rooms.close()
        await self._commits.close()
        await asyncio.to_thread(self._reading.shutdown)
        await self.pulse.close()

    def _committed(self, committed: batch.Committed) -> None:
        self._judge(committed)
        if committed.heard:
            self.signs.note(committed.heard, committed.now)
        if committed.wakes:
            self.wakeups.wake(committed.wakes)
        if committed.rooms:
            self.rooms.wake(committed.rooms)
        if committed.ended:
            self.endings.wake_all(committed.ended)
        if committed.events:
            self.on_events(committed.events)
        if committed.logged:
            self.tail.wake(committed.logged)
            self.on_logged()
        if committed.due_at is not None:
            self.on_due(committed.due_at)

    def _judge(self, committed: batch.Committed) -> None:
        """Learn from a batch whether the store takes changes, and whether workers were heard."""
        availability = self.availability
        availability.unknown += committed.unknown
        if committed.asked:
            availability.doubts -= 1
        if committed.asked or committed.away:
            # Callers had no answer until now; those that waited were refused with the others.
            availability.unheard += 1
        if committed.refused is not None:
            availability.lose(committed.refused)
        elif committed.logged and not committed.asked:
            availability.wrote()
