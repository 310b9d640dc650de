"""Enqueue many jobs in one call, with an outcome for each."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ojs_server.domain.errors import Duplicate, OjsError
from ojs_server.domain.jobs.validate import Draft, hash_of
from ojs_server.http.access.roles import ENQUEUE
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call
from ojs_server.http.errors import summary_of
from ojs_server.http.jobs.batches import checked_batch, is_atomic, receipt_for
from ojs_server.http.jobs.enqueue import checking, require_own_ids, trace
from ojs_server.http.jobs.views import array, envelopes, minimal_jobs, warnings
from ojs_server.http.prefer_header import applied, preference
from ojs_server.http.route import Route
from ojs_server.ops.jobs.bulk_enqueue import BulkEnqueue, BulkEntry
from ojs_server.ops.jobs.enqueue import Enqueue, ReceiptKey
from ojs_wire.calls import BulkEnqueueRequest
from ojs_wire.codec import encode

Outcome = BulkEntry | OjsError | None


async def enqueue(call: Call) -> Answer:
    """Store up to a thousand jobs: all that are valid, or with `atomic` all or none."""
    body = await call.json()
    call.check_members(body, BulkEnqueueRequest)
    items = await store(call, body)
    succeeded = sum(isinstance(item, BulkEntry) for item in items)
    status = 201 if succeeded == len(items) else 207 if succeeded else 422
    numbers = {"total": len(items), "succeeded": succeeded, "failed": len(items) - succeeded}
    minimal = preference(call).minimal
    shown = (_shown(index, item, minimal) for index, item in enumerate(items))
    return Answer(
        array("items", shown, **numbers),
        status,
        {"X-OJS-Batch-Size": str(len(items)), **applied(minimal=minimal)},
    )


async def store(call: AnyCall, body: Mapping[str, Any]) -> Sequence[Outcome]:
    """Store the jobs of a request, and return the outcome of each."""
    jobs = checked_batch(body.get("jobs"))
    atomic = is_atomic(body)
    receipt = receipt_for(call, "bulk.enqueue", body.get("idempotency_key"))
    body_hash = hash_of(body) if receipt else b""
    drafts, refused = _drafts(call, jobs)
    items: list[Outcome]
    if atomic:
        items = await _all_or_none(call, drafts, refused, receipt, body_hash)
    else:
        enqueued = await call.server.engine.run(BulkEnqueue(tuple(drafts), receipt, body_hash))
        items = [item or refused[index] for index, item in enumerate(enqueued.items)]
    trace(call, [item.stored for item in items if isinstance(item, BulkEntry)])
    return items


def _drafts(call: AnyCall, jobs: Sequence[Any]) -> tuple[list[Draft | None], dict[int, OjsError]]:
    draft_of = checking(call)
    drafts: list[Draft | None] = []
    refused: dict[int, OjsError] = {}
    for index, item in enumerate(jobs):
        try:
            drafts.append(draft_of(item))
        except OjsError as error:
            drafts.append(None)
            refused[index] = error
    return drafts, refused


async def _all_or_none(
    call: AnyCall,
    drafts: Sequence[Draft | None],
    refused: dict[int, OjsError],
    receipt: ReceiptKey | None,
    body_hash: bytes,
) -> list[Outcome]:
    require_own_ids(filter(None, drafts))
    if not refused:
        whole = tuple(draft for draft in drafts if draft)
        try:
            done = await call.server.engine.run(Enqueue(whole, receipt, body_hash, bulk_event=True))
        except Duplicate as error:
            refused = {_at_fault(error, whole): error}
        else:
            complaints = {complaint.index: (complaint,) for complaint in done.complaints}
            return [
                BulkEntry(job, earlier, complaints.get(index, ()))
                for index, (job, earlier) in enumerate(zip(done.jobs, done.earlier, strict=True))
            ]
    return [refused.get(index) for index in range(len(drafts))]


def _at_fault(error: Duplicate, drafts: Sequence[Draft]) -> int:
    """Return the index of the job that made the whole call fail."""
    details = error.details or {}
    if "existing_job_id" not in details and "index" not in details:
        # The error concerns the idempotency key, not a job.
        raise error
    ids = [draft.id for draft in drafts]
    existing = details.get("existing_job_id")
    return int(details.get("index", ids.index(existing) if existing in ids else 0))


def _shown(index: int, item: Outcome, minimal: bool) -> bytes:
    """Return one item of the answer; a job in it is the bytes of its envelope."""
    if isinstance(item, BulkEntry):
        status = "duplicate" if item.earlier else "created"
        head = encode({"index": index, "status": status, **warnings(item.complaints)})
        (job,) = (minimal_jobs if minimal else envelopes)([item.stored], [item.earlier])
        return head[:-1] + b',"job":' + job + b"}"
    error = summary_of(item) if item else _WITH_ANOTHER
    return encode({"index": index, "status": "failed", "error": error})


_WITH_ANOTHER = {
    "code": "rolled_back",
    "type": "rolled_back",
    "message": "nothing was stored, since another job of the batch was refused",
    "retryable": True,
}


ROUTES: Final = (Route("POST", "/jobs/bulk", enqueue, ENQUEUE, tenanted=True, produces=True),)
