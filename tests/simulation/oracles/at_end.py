"""Rules that hold once everything has calmed down."""

import asyncio

from tests.simulation.oracles import (
    attempts,
    channels,
    contents,
    counts,
    cron,
    events,
    holders,
    jobs,
    leases,
    limits,
    progress,
    queues,
    reads,
    rows,
    sessions,
    staging,
    tenants,
    unique,
    wakeups,
    webhooks,
    workers,
    workflows,
)
from tests.simulation.oracles.stored import Stored
from tests.simulation.world import World

SUBJECTS = (
    jobs,
    holders,
    reads,
    attempts,
    leases,
    unique,
    queues,
    limits,
    counts,
    wakeups,
    contents,
    events,
    channels,
    workflows,
    cron,
    webhooks,
    workers,
    sessions,
    staging,
    tenants,
    progress,
)
# Time in which readers get what is stored.
READ_S = 10.0

UNFINISHED = """
    SELECT id, state FROM jobs
    WHERE state NOT IN ('completed', 'discarded', 'cancelled', 'pending')
"""


def unfinished(world: World) -> list[str]:
    """Return what has not ended yet, but could: a pending job waits for an activation."""
    return [f"{row['id']} ({row['state']})" for row in rows.of(world, UNFINISHED)]


async def judge(world: World) -> None:
    """Have all oracles look at the end."""
    stored = Stored(world)
    await asyncio.sleep(READ_S)
    for subject in SUBJECTS:
        subject.judge(world, stored)
