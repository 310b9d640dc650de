"""Draw all acts of a scenario, each subject with streams of chance of its own."""

from tests.simulation.scenario import Act, Options
from tests.simulation.workload import (
    channels,
    cron,
    jobs,
    operators,
    sessions,
    staging,
    streams,
    tenants,
    webhooks,
    workers,
    workflows,
)

SUBJECTS = (
    jobs,
    operators,
    workflows,
    cron,
    streams,
    channels,
    webhooks,
    tenants,
    workers,
    sessions,
    staging,
)


def acts(seed: int, options: Options) -> list[Act]:
    """Return the acts."""
    return [act for subject in SUBJECTS for act in subject.draw(seed, options)]
