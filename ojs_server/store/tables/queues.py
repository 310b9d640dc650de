"""Queues and their counters."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Final

import msgspec

from ojs_server.domain.admin.maintenance import Maintenance
from ojs_server.domain.jobs.job import STATES, Job
from ojs_server.domain.queues.config import QueueConfig
from ojs_server.store.records import (
    BYTES,
    LoadedQueue,
    QueueCounts,
    QueueLoad,
    QueueSlice,
    QueueSums,
)
from ojs_server.store.tables.statements import Statements, Values, Writing, by_name
from ojs_wire.codec import encode

_COUNTED: Final = (*STATES, BYTES)
_config: Final = msgspec.json.Decoder(QueueConfig)


class QueueWrites(Writing):
    """Queues in a write transaction."""

    # The configured queues, as they were when the transaction began.
    configs: Mapping[str, QueueConfig]
    # The maintenance that was on then.
    maintenance: Maintenance | None = None

    def set_paused(self, queue: str, paused: bool) -> None:
        """Pause or resume a queue, known or not."""
        self.run("set_paused", queue=queue, paused=paused, now=self.now)

    def add_counts(self, deltas: Mapping[str, Mapping[str, int]]) -> None:
        """Move the counters of queues: jobs by state, and `BYTES`."""
        self.run_columns("add_counts", **self.count_columns(deltas))

    def count_columns(self, deltas: Mapping[str, Mapping[str, int]]) -> dict[str, Values]:
        """Return the changes of counters as columns to bind."""
        rows = [
            (queue, self.node, self.now, *map(by.get, _COUNTED, repeat(0)))
            for queue, by in sorted(deltas.items())
        ]
        return by_name(rows, "queue", "node", "created_at", *_COUNTED)

    def save_config(self, queue: str, config: QueueConfig) -> None:
        """Configure a queue, known or not."""
        self.run("set_config", queue=queue, config=encode(config), now=self.now)
        self.configs = {**self.configs, queue: config}
        self.configs_changed()

    def delete_queue(self, queue: str) -> None:
        """Forget a queue's configuration and counters; it has no jobs."""
        self.run("delete_queue", queue=queue)
        self.run("delete_counts", queue=queue)
        self.configs = {name: one for name, one in self.configs.items() if name != queue}
        self.configs_changed()

    def save_maintenance(self, maintenance: Maintenance | None) -> None:
        """Begin, change or end maintenance."""
        if maintenance is None:
            self.run("end_maintenance")
        else:
            bound = {"since": maintenance.since, "until": maintenance.until}
            self.run("begin_maintenance", reason=maintenance.reason, **bound)
        self.maintenance = maintenance
        self.configs_changed()

    def stored_maintenance(self) -> Maintenance | None:
        """The maintenance that is on, as it is stored."""
        return _maintenance(self)

    def all_configs(self) -> dict[str, QueueConfig]:
        """The configured queues as they are stored."""
        return {name: _config.decode(config) for name, config in self.all("queue_configs")}

    def queue_names(self) -> list[str]:
        """All queues, by name."""
        return [name for (name,) in self.all("queue_names")]

    def queue_loads(self, names: Iterable[str]) -> dict[str, QueueLoad]:
        """Return the loads of queues, without changes that this transaction has not written yet."""
        return {one.name: one.load for one in self.read_ids(LoadedQueue, "queue_loads", names)}

    def count_jobs(self, names: Iterable[str]) -> dict[str, int]:
        """Count the jobs of queues in all states."""
        return {name: int(count) for name, count in self.all_ids("count_jobs", names)}

    def oldest_waiting(self, queue: str, limit: int) -> list[Job]:
        """Lock the available jobs of a queue that were there first, oldest first."""
        jobs = self.read(Job, "oldest_waiting", queue=queue, limit=limit)
        return sorted(jobs, key=lambda job: job.seq)


class QueueReads(Statements):
    """Queues outside of a transaction."""

    def queues(self, names: Sequence[str] | None = None) -> list[QueueCounts]:
        """All queues by name, or these."""
        if names is None:
            return list(map(queue_of, self.read(QueueSums, "queues")))
        return list(map(queue_of, self.read_ids(QueueSums, "some_queues", names)))

    def oldest_available(self, queues: Iterable[str]) -> dict[str, int]:
        """Return when the job that has been available for the longest joined each of these queues,
        but for those that have none."""
        return dict(self.all_ids("oldest_available", queues))

    def priorities(self, queue: str, limit: int) -> dict[int, int]:
        """Count the available jobs of each priority in a queue, each up to a limit."""
        rows = self.all("priorities", queue=queue, limit=limit)
        return {row[0]: row[1] for row in sorted(rows, reverse=True)}

    def maintenance(self) -> Maintenance | None:
        """The maintenance that is on."""
        return _maintenance(self)

    def span(self, queue: str, after: str, size: int) -> QueueSlice | None:
        """Return the jobs of a queue among the next `size` jobs of all queues after an id."""
        last = self.all("span_end", after=after, span=size)[0][0]
        if last is None:
            return None
        rows = self.all("jobs_in_span", after=after, last=last, queue=queue)
        return QueueSlice([(row[0], row[1], row[2]) for row in rows], last)


def _maintenance(statements: Statements) -> Maintenance | None:
    return next(iter(statements.read(Maintenance, "load_maintenance")), None)


def queue_of(sums: QueueSums) -> QueueCounts:
    """A queue with its counters by state."""
    return QueueCounts(
        name=sums.name,
        paused=sums.paused,
        created_at=sums.created_at,
        changed_at=sums.changed_at,
        counts={state: getattr(sums, state) for state in STATES},
        bytes=sums.bytes,
        config=sums.config,
        configured_at=sums.configured_at,
    )
