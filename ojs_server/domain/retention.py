"""How long finished things are kept."""

from typing import Final

import msgspec

DAY: Final = 86_400_000


class Retention(msgspec.Struct, frozen=True):
    """Milliseconds after the final state at which a row is removed."""

    completed_ms: int = 7 * DAY
    cancelled_ms: int = 7 * DAY
    discarded_ms: int = 30 * DAY
    dead_letter_ms: int = 180 * DAY
    events_ms: int = 7 * DAY
    idempotency_ms: int = DAY
    workers_ms: int = DAY
    workflows_ms: int = 7 * DAY
