"""Totals of tenants: their queues, jobs by state, and workers."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ojs_server.domain.jobs.job import STATES
from ojs_server.domain.profile import Profile
from ojs_server.domain.tenants.tenant import BETWEEN, DEFAULT, scoped, split_name
from ojs_server.domain.workers.staleness import is_present
from ojs_server.store.base import Reader
from ojs_server.store.records import QueueCounts


def totals_of(
    reader: Reader, names: Collection[str], profile: Profile
) -> Mapping[str, Mapping[str, Any]]:
    """Return the number of queues, the jobs by state and the number of workers that are not stale
    of each of these tenants."""
    jobs, queues, now = counts_of(reader, names), reader.count_queues(names), reader.now()
    workers = Counter(
        split_name(load.worker.id)[0] or DEFAULT
        for load in reader.workers()
        if is_present(load.worker, now, profile)
    )
    return {
        name: {
            "queues": queues[name],
            "jobs": counts_in(jobs.get(name)),
            "workers": workers[name],
        }
        for name in names
    }


def counts_of(reader: Reader, names: Iterable[str]) -> dict[str, QueueCounts]:
    """Return the counts of these tenants over all their queues; those that never had jobs are left
    out."""
    found = reader.queues([scoped(name, "") for name in names])
    return {tenant.name.removesuffix(BETWEEN): tenant for tenant in found}


def counts_in(queue: QueueCounts | None) -> Mapping[str, int]:
    """Return the jobs of a tenant by state; zeros if it never had any."""
    return dict.fromkeys(STATES, 0) if queue is None else queue.counts
