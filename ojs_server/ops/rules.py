"""Settings and randomness that decide how operations end."""

import random
from collections.abc import Callable, Sequence

import msgspec

from ojs_server.domain.profile import OJS, Profile
from ojs_server.domain.retention import Retention
from ojs_wire.values import RisingIds


class Rules(msgspec.Struct, frozen=True):
    """The server's settings that decide how operations end."""

    profile: Profile = OJS
    run_ms: int | None = None
    keep: Retention = Retention()
    conformance: bool = False
    retry_priority: str = "equal"
    schema_validation: str = "warn"


class Chance(msgspec.Struct, frozen=True):
    """Where randomness comes from."""

    bits: Callable[[int], int]
    dice: Callable[[], float]
    # So many for a moment, each above the one before it.
    new_ids: Callable[[int, int], Sequence[str]]


def chance() -> Chance:
    """Randomness seeded by the operating system."""
    source = random.Random()
    return Chance(source.getrandbits, source.random, RisingIds(source.getrandbits).many)
