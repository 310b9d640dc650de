"""Bulk calls with a filter: find the jobs without locks, and change them in steps."""

from functools import partial
from typing import Final

from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs.bulk import STEP, Action, Bulk, BulkOutcome, Item, ReceiptKey
from ojs_server.store.base import Reader
from ojs_server.store.records import JobIds

# Most jobs that one call changes; a client repeats the call for more.
MOST: Final = 10_000
# Most jobs of a call with an idempotency key, which is stored with the only transaction.
MOST_KEYED: Final = 1000


async def by_filter(
    engine: Engine,
    action: Action,
    job_filter: JobFilter,
    receipt: ReceiptKey | None = None,
    body_hash: bytes = b"",
    dry_run: bool = False,
) -> BulkOutcome:
    """Apply a bulk operation to the jobs that match a filter, oldest first, up to a limit.

    Each step is a transaction: a call that is interrupted has done its steps until then. With
    `dry_run` nothing is done.
    """
    if receipt:
        ids, has_more = await _find(engine, job_filter, MOST_KEYED)
        return await engine.run(
            Bulk(
                action,
                tuple(ids),
                job_filter,
                receipt=receipt,
                body_hash=body_hash,
                has_more=has_more,
            )
        )
    ids, has_more = await _find(engine, job_filter, MOST)
    steps = [tuple(ids[start : start + STEP]) for start in range(0, len(ids), STEP)] or [()]
    items: list[Item] = []
    failed = 0
    for step in steps:
        done = await engine.run(
            Bulk(
                action,
                step,
                job_filter,
                dry_run=dry_run,
                emit=step is steps[-1],
                done_before=len(items) - failed,
                failed_before=failed,
            )
        )
        items += done.items
        failed += done.failed
    return BulkOutcome(tuple(items), has_more)


async def _find(engine: Engine, job_filter: JobFilter, most: int) -> tuple[list[str], bool]:
    ids: list[str] = []
    part = await engine.read(lambda reader: reader.find_jobs(job_filter, STEP))
    ids += part.ids
    while part.after is not None and len(ids) <= most:
        part = await engine.read(partial(_next, job_filter, part.after))
        ids += part.ids
    return sorted(ids[:most]), len(ids) > most


def _next(job_filter: JobFilter, after: str, reader: Reader) -> JobIds:
    return reader.find_jobs(job_filter, STEP, after)
