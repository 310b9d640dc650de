"""Retention periods: how long finished jobs, workflows, events and other records are kept."""

from typing import Final

import msgspec

DAY: Final = 86_400_000


class Retention(msgspec.Struct, frozen=True):
    """Milliseconds after the final state at which a row is removed; and how many may be kept.

    `dead_letters` counts by queue, and only those that are kept for `dead_letter_ms`.
    """

    completed_ms: int = 7 * DAY
    cancelled_ms: int = 7 * DAY
    discarded_ms: int = 30 * DAY
    dead_letter_ms: int = 180 * DAY
    events_ms: int = 7 * DAY
    idempotency_ms: int = DAY
    workers_ms: int = DAY
    dead_letters: int = 10_000
    events: int = 1_000_000
    workflows_ms: int = 7 * DAY
    deliveries_ms: int = 7 * DAY
    actions_ms: int = 90 * DAY
