"""All tables in the order of locks, those of other systems included."""

from collections.abc import Sequence
from typing import Final

from ojs_server.store.columns import Record, add_record
from ojs_server.store.queries import add_statements

# The tables that a reset empties, in the order of locks.
_OF_WORKERS: Final = (
    "queues",
    "maintenance",
    "tenants",
    "pools",
    "routings",
    "schemas",
    "webhooks",
    "deliveries",
    "cron",
    "cron_runs",
    "workers",
    "worker_kinds",
    "job_kinds",
)
_OF_JOBS: Final = (
    "staged_jobs",
    "staged_outcomes",
    "jobs",
    "leases",
    "checkpoints",
    "progress",
    "earlier_holders",
    "job_numbers",
    "workflows",
    "workflow_jobs",
    "limits",
    "queue_counts",
    "events",
    "event_tally",
    "statistics",
    "receipts",
    "logins",
    "actions",
)
# Tables of other systems, whose rows are locked after workers.
_of_systems: Final[list[str]] = []


def wiped_tables() -> Sequence[str]:
    """Return the tables that a reset empties, in the order of locks."""
    return (*_OF_WORKERS, *_of_systems, *_OF_JOBS)


def add_tables(package: str, **records: type) -> None:
    """Give all stores the tables of another system, each with its record, and the statements of its
    package."""
    for table, record in records.items():
        add_record(Record(record, table))
        _of_systems.append(table)
    add_statements(package)
