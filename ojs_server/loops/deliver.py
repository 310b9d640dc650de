"""Send webhooks: create deliveries from the event log, and post them to their targets.

round: read what there is ─▶ spread news ─▶ take what is due ─▶ a task for each ─▶ report
"""

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final, Protocol

from ojs_server.domain.errors import OjsError
from ojs_server.domain.event_buffer import EventBuffer
from ojs_server.domain.webhooks.delivery import Delivery, Reply, Status
from ojs_server.domain.webhooks.webhook import Webhook, skipped
from ojs_server.observe.metrics import Metrics
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.time_limit import at_most
from ojs_server.ops.webhooks.deliveries import MAX_WAITING, RecordAttempt, Spread, Take, look
from ojs_server.store.base import Clock
from ojs_server.store.records import WebhookLoad
from ojs_server.webhooks.client import message_of

# Events and subscriptions of other nodes are not announced to this loop.
SLOW_POLL_S: Final = 1.0
# Pause between reads of a busy log, so that not every commit causes one.
STRIDE_S: Final = 0.02
# Concurrent deliveries from one node to one target, so that a hanging target occupies no more.
AT_ONCE: Final = 4
# Time for recording an attempt, after its own time limit.
MARGIN_MS: Final = 30_000
# Number of pages without matching events after which a cursor is stored.
LEAP: Final = 10

log = logging.getLogger("ojs.webhooks")


class Sender(Protocol):
    """Sends requests to targets."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """One attempt."""


class Deliver:
    """One node's sender."""

    def __init__(
        self,
        engine: Engine,
        sender: Sender,
        metrics: Metrics,
        wall_ms: Clock,
        *,
        source: str,
        timeout_ms: int,
        at_once: int,
    ) -> None:
        self._engine = engine
        self._sender = sender
        self._metrics = metrics
        self._wall_ms = wall_ms
        self._source = source
        self._lease_ms = timeout_ms + MARGIN_MS
        self._at_once = at_once
        self._wake = asyncio.Event()
        self._busy: Counter[str] = Counter()
        # In their order, in which they are broken off.
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._any = False
        # The positions up to which pages had no event to deliver, and the number of these pages.
        self._passed: dict[str, tuple[int, int, int]] = {}

    def nudge(self, events: EventBuffer) -> None:
        """The event log has grown; without a subscription that is nothing to this loop."""
        if self._any:
            self._wake.set()

    def attend(self) -> None:
        """A subscription or a delivery was changed by a call."""
        self._wake.set()

    async def run(self) -> None:
        """Run until cancelled; interrupted attempts are made again by another node."""
        try:
            while True:
                try:
                    pause = await self.round()
                except OjsError as error:
                    log.debug("webhook deliveries are paused: %s", error.message)
                    pause = SLOW_POLL_S
                await asyncio.sleep(STRIDE_S)
                await at_most(self._wake.wait(), pause)
        finally:
            await self._break_off()

    async def round(self) -> float:
        """Do all due work; return the seconds until the next round."""
        self._wake.clear()
        loads, now = await self._engine.read(
            lambda reader: (reader.webhook_loads(MAX_WAITING), reader.now())
        )
        self._any = bool(loads)
        more = await self._spread(loads)
        taken = await self._take(loads, now)
        if more or taken:
            return 0.0
        free = [load for load in loads if self._slots(load.webhook) > 0]
        # For targets at their limit, the end of an attempt wakes this loop.
        due = min((one.due_at for one in free if one.due_at is not None), default=None)
        return SLOW_POLL_S if due is None else max(0.0, min(SLOW_POLL_S, (due - now) / 1000))

    async def idle(self) -> None:
        """Wait until no attempt is running."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _spread(self, loads: list[WebhookLoad]) -> bool:
        """Create deliveries for new events; return True if there may be more at once."""
        groups: dict[int, list[Webhook]] = defaultdict(list)
        for load in loads:
            if load.waiting < MAX_WAITING:
                groups[self._place(load.webhook)].append(load.webhook)
        self._passed = {
            load.webhook.id: self._passed[load.webhook.id]
            for load in loads
            if load.webhook.id in self._passed
        }
        more = False
        for cursor, webhooks in groups.items():
            more |= await self._spread_from(cursor, webhooks)
        return more

    async def _spread_from(self, cursor: int, webhooks: list[Webhook]) -> bool:
        news = await self._engine.read(lambda reader: look(reader, webhooks, cursor))
        if news.cursor == cursor:
            return False
        pages = 1 + max(self._pages(webhook) for webhook in webhooks)
        if news.matched or pages >= LEAP:
            reported = await self._engine.run(Spread(news, self._source))
            return bool(news.matched) or news.has_more or not reported.kept
        for webhook in webhooks:
            self._passed[webhook.id] = (webhook.cursor, news.cursor, pages)
        return news.has_more

    def _place(self, webhook: Webhook) -> int:
        stored, passed, _ = self._passed.get(webhook.id, (0, 0, 0))
        place = passed if stored == webhook.cursor and passed > stored else webhook.cursor
        return skipped(webhook, place)

    def _pages(self, webhook: Webhook) -> int:
        stored, _, pages = self._passed.get(webhook.id, (0, 0, 0))
        return pages if stored == webhook.cursor else 0

    def _slots(self, webhook: Webhook) -> int:
        return min(AT_ONCE - self._busy[webhook.id], self._at_once - len(self._tasks))

    async def _take(self, loads: list[WebhookLoad], now: int) -> int:
        free = self._at_once - len(self._tasks)
        free_slots: list[tuple[str, int]] = []
        due = [load for load in loads if load.due_at is not None and load.due_at <= now]
        # Longest overdue first, so that none starves.
        for load in sorted(due, key=lambda one: one.due_at or 0):
            slots = min(free, self._slots(load.webhook))
            if slots > 0:
                free_slots.append((load.webhook.id, slots))
                free -= slots
        if not free_slots:
            return 0
        known = {load.webhook.id: load.webhook for load in loads}
        took = await self._engine.run(Take(tuple(free_slots), self._lease_ms))
        for delivery in took.deliveries:
            self._busy[delivery.webhook_id] += 1
            task = asyncio.create_task(self._attempt(known[delivery.webhook_id], delivery))
            self._tasks[task] = None
            task.add_done_callback(lambda done: self._tasks.pop(done, None))
        return len(took.deliveries)

    async def _attempt(self, webhook: Webhook, delivery: Delivery) -> None:
        try:
            message = message_of(webhook, delivery, self._wall_ms())
            reply = await self._sender.post(webhook.url, *message)
            reported = await self._engine.run(RecordAttempt(delivery, reply))
            if reported.kept and reported.delivery is not None:
                self._observe(reported.delivery, reply)
        except OjsError as error:
            # The delivery becomes due again, as after a crash.
            log.warning("the outcome of %s could not be stored: %s", delivery.id, error.message)
        except Exception:
            log.exception("an attempt at %s failed here", delivery.id)
        finally:
            self._busy[webhook.id] -= 1
            if not self._busy[webhook.id]:
                del self._busy[webhook.id]
            self._wake.set()

    def _observe(self, delivery: Delivery, reply: Reply) -> None:
        status = "failed" if delivery.status == Status.PENDING else delivery.status
        self._metrics.observe_delivery(delivery.event_type, status, reply.took_ms / 1000)
        if delivery.status == Status.DEAD:
            log.warning("%s is given up: %s", delivery.id, delivery.error)

    async def _break_off(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
