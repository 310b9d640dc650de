"""All acts, by their kinds."""

from typing import Final

from tests.simulation.acts import (
    channels,
    cron,
    foreign,
    jobs,
    queues,
    retrying,
    sessions,
    staging,
    streams,
    tenants,
    webhooks,
    workers,
    workflows,
)
from tests.simulation.acts.caller import Acts

ACTS: Final[Acts] = {
    **jobs.ACTS,
    **retrying.ACTS,
    **queues.ACTS,
    **foreign.ACTS,
    **sessions.ACTS,
    **staging.ACTS,
    **workflows.ACTS,
    **cron.ACTS,
    **streams.ACTS,
    **channels.ACTS,
    **webhooks.ACTS,
    **tenants.ACTS,
    **workers.ACTS,
}
