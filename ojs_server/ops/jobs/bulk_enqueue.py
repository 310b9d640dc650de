"""Enqueue many jobs independently: an invalid job does not stop the others."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ojs_server.domain import events
from ojs_server.domain.errors import Duplicate, NotFound, OjsError
from ojs_server.domain.jobs.job import StoredJob
from ojs_server.domain.jobs.validate import Draft
from ojs_server.ops.jobs.enqueue import Enqueue, ReceiptKey
from ojs_server.ops.jobs.enqueue import run as enqueue
from ojs_server.ops.operation import Locks, Operation, Stage
from ojs_server.ops.schemas.registry import Complaint
from ojs_server.ops.unit_of_work import Work
from ojs_server.store.records import Receipt
from ojs_wire import codec


class BulkEntry(msgspec.Struct, frozen=True):
    """A stored job; `earlier` if it existed before; and the complaints about its arguments."""

    stored: StoredJob
    earlier: bool
    complaints: tuple[Complaint, ...] = ()


class BulkEnqueued(msgspec.Struct, frozen=True):
    """The outcome for each job, in the order of the request."""

    items: tuple[BulkEntry | OjsError | None, ...]


class BulkEnqueue(Operation[BulkEnqueued], frozen=True):
    """The jobs of one request; None for each that was refused by validation."""

    stage = Stage.BULK_ENQUEUE

    drafts: tuple[Draft | None, ...]
    receipt: ReceiptKey | None = None
    body_hash: bytes = b""

    @property
    def keys(self) -> tuple[object, ...]:
        found = tuple(key for draft in self.drafts if draft for key in _keys(draft))
        return (*found, self.receipt) if self.receipt else found

    @property
    def job_count(self) -> int:
        return len(self.drafts)

    def lock(self, locks: Locks) -> None:
        locks.drafts.append(self.drafts)

    def carry_out(self, work: Work) -> BulkEnqueued:
        if self.receipt:
            known = work.tx.insert_receipts({self.receipt: Receipt(self.body_hash, ())})
            if known:
                return _repeated(work, self, known[self.receipt])
        uniques = [draft.unique.key for draft in self.drafts if draft and draft.unique]
        if uniques:
            work.tx.lock_unique(uniques)
        items: list[BulkEntry | OjsError | None] = [None] * len(self.drafts)
        for wave in _waves(self.drafts):
            requests = [Enqueue((draft,)) for _, draft in wave]
            for (index, _), outcome in zip(wave, enqueue(work, requests), strict=True):
                items[index] = (
                    outcome
                    if isinstance(outcome, OjsError)
                    else BulkEntry(outcome.jobs[0], outcome.earlier[0], outcome.complaints)
                )
        succeeded = sum(isinstance(item, BulkEntry) for item in items)
        numbers = {"total": len(items), "succeeded": succeeded, "failed": len(items) - succeeded}
        work.note(events.bulk("enqueue", **numbers))
        if self.receipt:
            work.tx.delete_receipts([self.receipt])
            remembered = Receipt(self.body_hash, tuple(map(_remembered, items)))
            work.tx.insert_receipts({self.receipt: remembered})
        return BulkEnqueued(tuple(items))


def _keys(draft: Draft) -> Iterator[object]:
    if draft.id:
        yield draft.id
    if draft.unique:
        yield ("unique", draft.unique.key)


def _waves(drafts: Sequence[Draft | None]) -> list[list[tuple[int, Draft]]]:
    """Split jobs into parts without conflicts inside; of conflicting jobs the later is in a later
    part."""
    waves: list[list[tuple[int, Draft]]] = []
    following: dict[object, int] = {}
    for index, draft in enumerate(drafts):
        if draft is None:
            continue
        keys = list(_keys(draft))
        place = max((following.get(key, 0) for key in keys), default=0)
        following.update(dict.fromkeys(keys, place + 1))
        if place == len(waves):
            waves.append([])
        waves[place].append((index, draft))
    return waves


def _remembered(item: BulkEntry | OjsError | None) -> str:
    if item is None:
        return ""
    if isinstance(item, BulkEntry):
        return ("=" if item.earlier else "") + item.stored.job.id
    return "!" + codec.encode([item.message, item.details]).decode()


def _repeated(work: Work, op: BulkEnqueue, receipt: Receipt) -> BulkEnqueued:
    if receipt.body_hash != op.body_hash:
        raise Duplicate("this Idempotency-Key was used for a different request")
    ids = sorted({text.removeprefix("=") for text in receipt.job_ids if text[:1] not in ("", "!")})
    stored = work.tx.load_whole(ids)
    return BulkEnqueued(tuple(_recalled(text, stored) for text in receipt.job_ids))


def _recalled(text: str, stored: dict[str, StoredJob]) -> BulkEntry | OjsError | None:
    if not text:
        return None
    if text.startswith("!"):
        recalled: Any = codec.decode(text[1:].encode())
        return Duplicate(recalled[0], details=recalled[1])
    found = stored.get(text.removeprefix("="))
    if found is None:
        return NotFound("the job that this request created has been removed")
    return BulkEntry(found, text.startswith("="))
