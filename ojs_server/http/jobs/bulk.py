"""Cancel, retry or delete many jobs in one call, by their ids or by a filter."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import InvalidRequest, invalid, unconfirmed
from ojs_server.domain.fields import object_of
from ojs_server.domain.jobs.filter import MEMBERS, JobFilter, parse_filter
from ojs_server.domain.jobs.job import STATES, TERMINAL, State
from ojs_server.domain.jobs.validate import hash_of
from ojs_server.domain.suggestions import refuse_unknown_of_many
from ojs_server.http import dialects
from ojs_server.http.access.roles import OPERATE
from ojs_server.http.call import Answer, Call
from ojs_server.http.errors import summary_of
from ojs_server.http.jobs.batches import check_size, is_atomic, receipt_for
from ojs_server.http.route import Route
from ojs_server.ops.jobs.bulk import Action, Bulk, Item
from ojs_server.ops.jobs.bulk_search import by_filter
from ojs_wire.calls import BulkRequest
from ojs_wire.values import MAX_NAME

# Most jobs that a dry run by a filter shows of those that it would change, and that it would not.
SAMPLE: Final = 20
_DONE: Final[Mapping[Action, str]] = {
    "cancel": "cancelled",
    "retry": "retried",
    "delete": "deleted",
}


# The effect of an action on jobs, as an unconfirmed call is told.
_EFFECT: Final[Mapping[Action, str]] = {
    "cancel": "this call cancels {}",
    "retry": "this call retries {}",
    "delete": "this call removes {} for good",
}


class BulkStates(msgspec.Struct, frozen=True):
    """The job states of a bulk filter: the default ones, and those that a client may name."""

    states: tuple[str, ...]
    allowed: tuple[str, ...]
    ended: bool = False
    # True if a filter needs `confirm: true`, because the action cannot be undone.
    confirmed: bool = False


_STATES: Final[Mapping[Action, BulkStates]] = {
    "cancel": BulkStates(
        (State.AVAILABLE, State.SCHEDULED), tuple(s for s in STATES if s not in TERMINAL)
    ),
    "retry": BulkStates((State.DISCARDED,), (State.DISCARDED, State.RETRYABLE)),
    "delete": BulkStates(
        (State.COMPLETED, State.CANCELLED, State.DISCARDED),
        (State.COMPLETED, State.CANCELLED, State.DISCARDED),
        confirmed=True,
    ),
}
DEAD: Final = BulkStates((State.DISCARDED,), (State.DISCARDED,), ended=True, confirmed=True)


async def cancel(call: Call) -> Answer:
    """Cancel many jobs."""
    return await act(call, "cancel", _STATES["cancel"])


async def retry(call: Call) -> Answer:
    """Put discarded jobs, or ones that wait for their retry, into their queues."""
    return await act(call, "retry", _STATES["retry"])


async def delete(call: Call) -> Answer:
    """Remove many finished jobs for good."""
    return await act(call, "delete", _STATES["delete"])


async def act(call: Call, action: Action, bulk_states: BulkStates) -> Answer:
    """Apply an action to the jobs that the body names."""
    body = await call.optional_json()
    refuse_unknown_of_many("", body, BulkRequest.__struct_fields__)
    dry_run = call.typed(body, BulkRequest).dry_run is True
    by = _by_ids if body.get("job_ids") is not None else _by_filter
    return await by(call, action, body, bulk_states, dry_run)


async def _by_ids(
    call: Call, action: Action, body: dict[str, Any], bulk_states: BulkStates, dry_run: bool
) -> Answer:
    ids = body["job_ids"]
    if not isinstance(ids, list) or not ids:
        raise invalid("job_ids", "must be an array of at least one id")
    check_size("job_ids", len(ids), "ids")
    for index, job_id in enumerate(ids):
        if not isinstance(job_id, str) or len(job_id) > MAX_NAME:
            raise invalid(f"job_ids[{index}]", "must be the id of a job")
    if body.get("filter") is not None or _flat(body):
        raise InvalidRequest(
            "name the jobs by `job_ids` or by `filter`, not by both",
            details={"field": "job_ids"},
        )
    if body.get("confirm") is False:
        raise _withheld()
    receipt = _receipt(call, action, body, dry_run)
    atomic = is_atomic(body)
    job_filter = JobFilter(
        states=bulk_states.allowed if bulk_states.ended else (), tenant=call.tenant
    )
    done = await call.server.engine.run(
        Bulk(
            action,
            tuple(ids),
            job_filter,
            atomic=atomic,
            dry_run=dry_run,
            receipt=receipt,
            body_hash=hash_of(body) if receipt else b"",
        )
    )
    failed = done.failed
    if atomic and failed:
        return Answer(_summary(action, done.items, dry_run, undone=True), 422)
    status = 200 if not failed else 207 if failed < len(ids) else 422
    return Answer(_summary(action, done.items, dry_run), status)


async def _by_filter(
    call: Call, action: Action, body: dict[str, Any], bulk_states: BulkStates, dry_run: bool
) -> Answer:
    given = object_of("filter", body.get("filter"))
    flat = _flat(body)
    if given is not None and flat:
        raise InvalidRequest(
            f"`{min(flat)}` stands beside `filter`; put it inside", details={"field": min(flat)}
        )
    if given is None and not flat and not bulk_states.ended:
        raise invalid("filter", "is missing; name the jobs by `job_ids` or by `filter`")
    narrows = bool(flat) or any(value is not None for value in (given or {}).values())
    needed = bulk_states.confirmed or dialects.is_administration(call) or not narrows
    confirm = body.get("confirm")
    if confirm is not True and needed and not dry_run:
        whom = "dead letters" if bulk_states.ended else "jobs"
        raise unconfirmed(_EFFECT[action].format(f"all {'matching ' if narrows else ''}{whom}"))
    if confirm is not None and confirm is not True:
        raise _withheld()
    if is_atomic(body):
        raise invalid("atomicity", "cannot be atomic for a filter; name the jobs by `job_ids`")
    receipt = _receipt(call, action, body, dry_run)
    now = await call.server.engine.read(lambda reader: reader.now())
    job_filter = parse_filter(
        flat if given is None else given,
        now,
        where="" if given is None else "filter.",
        states=bulk_states.states,
        allowed=bulk_states.allowed,
        ended=bulk_states.ended,
        tenant=call.tenant,
        any_type=call.any_type,
    )
    done = await by_filter(
        call.server.engine,
        action,
        job_filter,
        receipt,
        hash_of(body) if receipt else b"",
        dry_run=dry_run,
    )
    return Answer(_summary(action, done.items, dry_run, has_more=done.has_more))


def _receipt(call: Call, action: Action, body: Mapping[str, Any], dry_run: bool) -> Any:
    """Return the idempotency key of a call; a dry run is neither remembered nor repeated."""
    receipt = receipt_for(call, f"bulk.{action}", body.get("idempotency_key"))
    return None if dry_run else receipt


def _flat(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a filter that are given in the body itself."""
    return {name: value for name, value in body.items() if value is not None and name in MEMBERS}


def _withheld() -> InvalidRequest:
    return invalid("confirm", "must be true or left out: with anything else nothing is done")


def _summary(
    action: Action,
    items: Sequence[Item],
    dry_run: bool,
    *,
    undone: bool = False,
    has_more: bool | None = None,
) -> dict[str, Any]:
    """Return the totals under all names: those of bulk calls, of the admin API, of dead letters.
    `has_more` is for filters; a dry run by one shows some of the jobs only."""
    word = _DONE[action]
    failed = len(items) if undone else sum(item.error is not None for item in items)
    succeeded = len(items) - failed
    numbered = list(enumerate(items))
    if dry_run and has_more is not None:
        numbered = _sample(numbered)
    shown = [_shown(index, item, action, undone) for index, item in numbered]
    return {
        "action": action,
        "total_matched": len(items),
        "matched": len(items),
        "succeeded": succeeded,
        word: succeeded,
        **({"purged_count": succeeded} if action == "delete" else {}),
        "failed": failed,
        "skipped": failed,
        "items": shown,
        "errors": [
            {"job_id": item["job_id"], "error": item["reason"]}
            for item in shown
            if "reason" in item
        ],
        **({"dry_run": True} if dry_run else {}),
        **({} if has_more is None else {"has_more": has_more}),
    }


def _sample(numbered: list[tuple[int, Item]]) -> list[tuple[int, Item]]:
    """Return the first jobs that would be changed, and the first that would be refused."""
    changed = [one for one in numbered if one[1].error is None][:SAMPLE]
    refused = [one for one in numbered if one[1].error is not None][:SAMPLE]
    return sorted(changed + refused, key=itemgetter(0))


def _shown(index: int, item: Item, action: Action, undone: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {"index": index, "job_id": item.job_id}
    if item.error is None and not undone:
        return {**shown, "status": _DONE[action]}
    status = "skipped" if action == "cancel" or item.error is None else "failed"
    if item.error is None:
        reason = "nothing was done, since another job of the call could not be"
        return {**shown, "status": status, "reason": reason}
    error = summary_of(item.error)
    return {**shown, "status": status, "reason": item.error.message, "error": error}


ROUTES: Final = (
    Route("POST", "/jobs/bulk/cancel", cancel, OPERATE, tenanted=True),
    Route("POST", "/jobs/bulk/retry", retry, OPERATE, tenanted=True),
    Route("POST", "/jobs/bulk/delete", delete, OPERATE, tenanted=True),
)
