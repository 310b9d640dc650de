"""All pairs, by name."""

from typing import Final

from tests.simulation.postgres.pair import Pair
from tests.simulation.postgres.pairs import (
    claims,
    cron,
    limits,
    settling,
    uniqueness,
    webhooks,
    workers,
    workflows,
)

PAIRS: Final[dict[str, Pair]] = {
    pair.name: pair
    for module in (claims, settling, uniqueness, workflows, cron, workers, limits, webhooks)
    for pair in module.PAIRS
}
