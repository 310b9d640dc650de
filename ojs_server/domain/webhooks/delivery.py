"""Webhook deliveries: one event for one target, tried until it is accepted or given up.

pending ──taken, then──▶ 2xx ──▶ delivered
   ▲                      │ 429, 5xx, no answer: again after the next step of the ladder
   └──────────────────────┤
                          └ another status, or the ladder's end ──▶ dead
its subscription is deleted: pending ──▶ cancelled          replay: ended ──▶ pending
"""

from enum import StrEnum
from typing import Final

import msgspec

from ojs_server.domain.errors import Conflict
from ojs_wire.codec import Json
from ojs_wire.values import RandomBits, uuid7

# The pause after each failed attempt. A last attempt follows after the last pause.
LADDER_MS: Final = tuple(
    1000 * seconds for seconds in (30, 120, 600, 3600, 4 * 3600, 12 * 3600, 24 * 3600)
)
MAX_ATTEMPTS: Final = len(LADDER_MS) + 1
# Limit for the pause that a target asks for.
MAX_PAUSE_MS: Final = 24 * 3_600_000
MAX_ERROR: Final = 500


class Status(StrEnum):
    """The states of a delivery."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"
    CANCELLED = "cancelled"


class Delivery(msgspec.Struct, frozen=True):
    """One event for one subscription. `due_at` is set only while it is pending.

    During an attempt, `due_at` is the moment at which the attempt counts as lost.
    """

    id: str
    webhook_id: str
    event_id: str
    event_type: str
    body: Json
    status: str
    attempt: int
    due_at: int | None
    created_at: int
    finished_at: int | None = None
    answer: int | None = None
    error: str | None = None
    took_ms: int | None = None
    tenant: str | None = None


class Reply(msgspec.Struct, frozen=True):
    """The result of one attempt: the status code of the answer, or why there was none."""

    answer: int | None
    error: str | None
    took_ms: int
    retry_after_ms: int | None = None
    # The beginning of the answer's body, for calls that test a target.
    excerpt: str = ""

    @property
    def taken(self) -> bool:
        """True if the target has accepted the event."""
        return self.answer is not None and 200 <= self.answer < 300

    @property
    def hopeless(self) -> bool:
        """True if another attempt would get the same answer."""
        return self.answer is not None and 300 <= self.answer < 500 and self.answer != 429


class NoAnswer(Exception):
    """The target was not called, or did not answer; the text says why."""


def delivery_id(now: int, bits: RandomBits) -> str:
    """Return the id of a new delivery."""
    return "dlv_" + uuid7(now, bits)


def taken(delivery: Delivery, now: int, lease_ms: int) -> Delivery:
    """Return the delivery as claimed by a node; dead if its last attempt was lost."""
    if delivery.attempt >= MAX_ATTEMPTS:
        return _ended(delivery, Status.DEAD, now, error=delivery.error or "no answer is known")
    return msgspec.structs.replace(delivery, attempt=delivery.attempt + 1, due_at=now + lease_ms)


def tried(delivery: Delivery, reply: Reply, now: int) -> Delivery:
    """Return the delivery after an attempt."""
    error = None if reply.error is None else reply.error[:MAX_ERROR]
    known = msgspec.structs.replace(
        delivery, answer=reply.answer, error=error, took_ms=reply.took_ms
    )
    if reply.taken:
        return _ended(known, Status.DELIVERED, now)
    if reply.hopeless or delivery.attempt >= MAX_ATTEMPTS:
        return _ended(known, Status.DEAD, now, error=error)
    pause = max(LADDER_MS[delivery.attempt - 1], reply.retry_after_ms or 0)
    return msgspec.structs.replace(known, due_at=now + min(pause, MAX_PAUSE_MS))


def replayed(delivery: Delivery, now: int) -> Delivery:
    """Return the delivery as it was at first, under the same id."""
    if delivery.status == Status.PENDING:
        raise Conflict(
            f"the delivery {delivery.id} has not ended; it is tried again by itself",
            details={"delivery_id": delivery.id, "status": delivery.status},
        )
    return msgspec.structs.replace(
        delivery, status=Status.PENDING, attempt=0, due_at=now, finished_at=None
    )


def _ended(delivery: Delivery, status: Status, now: int, error: str | None = None) -> Delivery:
    return msgspec.structs.replace(
        delivery, status=status, due_at=None, finished_at=now, error=error
    )
