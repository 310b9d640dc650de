"""FETCH: the claim that a worker asks for, and the jobs that it is handed."""

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from ojs_server.domain.errors import invalid
from ojs_server.domain.fairness.pool import parse_strategy, parse_weights
from ojs_server.domain.fields import is_job_type, parse_queue
from ojs_server.domain.jobs.job import StoredJob
from ojs_server.domain.tenants.tenant import scoped
from ojs_server.domain.workers.requirements import parse_runtime
from ojs_server.domain.workers.worker import parse_worker_id
from ojs_server.http.access.roles import WORK
from ojs_server.http.any_call import AnyCall
from ojs_server.http.call import Answer, Call, parsed, typed
from ojs_server.http.dialects import fetch_answer
from ojs_server.http.hot_call import HotCall, Prepared
from ojs_server.http.jobs.views import envelope, left_members
from ojs_server.http.prefer_header import applied, preference
from ojs_server.http.route import Route
from ojs_server.ops.fairness.fair_claim import ServingOrder
from ojs_server.ops.workers.claim import Claim, FetchedJobs
from ojs_server.ops.workers.fetch import fetch as fetch_or_wait
from ojs_server.store.records import Claimed
from ojs_wire.calls import FetchRequest, FetchTerms
from ojs_wire.values import MAX_NAME, parse_duration

# Longer bodies are not cached.
_SHORT: Final = 4096


def _fetch(call: Call, body: bytes) -> Prepared:
    read = _read_fetch if len(body) <= _SHORT else _read_fetch.__wrapped__
    strict = call.server.settings.strict
    claim, requested_ms = read(body, call.tenant, strict=strict, any_type=call.any_type)
    wait_ms, headers = wait_of(call, requested_ms)
    wait = partial(wait_for_jobs, call, claim, wait_ms) if wait_ms else None
    return Prepared(claim, wait, (wait_ms, headers))


# Cached, because most workers send the same body each time.
@lru_cache(maxsize=256)
def _read_fetch(
    body: bytes, tenant: str | None, *, strict: bool, any_type: bool
) -> tuple[Claim, int | None]:
    """Return the claim of a FETCH, and the wait that it asks for."""
    request = typed(parsed(body), FetchRequest, strict=strict)
    worker_id = request.worker_id
    holder = None if worker_id is None else scoped(tenant, parse_worker_id(worker_id))
    return claim_of(tenant, request, holder, any_type=any_type), request.wait_ms


def _handed_out(call: Call, prepared: Prepared, jobs: FetchedJobs) -> Answer:
    wait_ms, headers = prepared.about
    members = withheld_members(jobs)
    granted = call.server.engine.rules.profile.max_wait_ms
    if wait_ms > granted:
        members["granted_wait_ms"] = granted
    return fetch_answer(call, fetched(call, jobs), members, headers)


# Hands out available jobs; with `wait_ms`, waits for the first.
fetch: Final = HotCall(_fetch, _handed_out)


def claim_of(
    tenant: str | None, terms: FetchTerms, worker_id: str | None, *, any_type: bool
) -> Claim:
    """Return the claim of a FETCH; queues may be left out if it names job types."""
    if terms.queues is None and not terms.job_types:
        raise invalid("queues", "is missing; without `job_types` it is needed")
    return Claim(
        queues=tuple(dict.fromkeys(parse_queue("queues", name) for name in terms.queues or ())),
        count=terms.count or terms.batch_size or 1,
        worker_id=worker_id,
        job_types=_job_types(terms.job_types, any_type),
        lease_ms=_lease_ms(terms),
        fetch_id=fetch_id_of(terms.fetch_id),
        tags=None if terms.runtime is None else parse_runtime("runtime", terms.runtime),
        late_ack=terms.late_ack,
        tenant=tenant,
        serving=_serving(terms),
    )


def wait_of(call: Call, requested_ms: int | None) -> tuple[int, Mapping[str, str]]:
    """Return the wait that a FETCH asks for in its body, or else prefers, with the headers that
    tell of a preference."""
    wished = preference(call).wait_s
    if requested_ms is not None or wished is None:
        return requested_ms or 0, {}
    wait_ms = wished * 1000
    return wait_ms, applied(min(wait_ms, call.server.engine.rules.profile.max_wait_ms))


async def wait_for_jobs(call: AnyCall, claim: Claim, wait_ms: int) -> FetchedJobs:
    """Return the jobs of a FETCH as soon as there are any, or none after its wait."""
    wait_ms = min(wait_ms, call.server.engine.rules.profile.max_wait_ms)
    gone = call.disconnected() if wait_ms else None
    return await fetch_or_wait(call.server.engine, claim, wait_ms, gone)


def fetched(call: Call, jobs: FetchedJobs) -> Iterator[bytes]:
    """Jobs as FETCH hands them out."""
    trace(call, jobs)
    return (envelope(stored_of(job.claimed), job.lease, left_members(job.left)) for job in jobs)


def trace(call: AnyCall, jobs: FetchedJobs) -> None:
    """Add the jobs of a FETCH to the traces."""
    if jobs and call.server.tracer is not None:
        call.server.tracer.fetched(jobs)


def withheld_members(jobs: FetchedJobs) -> dict[str, Any]:
    """Members of the answer to a FETCH without jobs: the worker's `state` or `presence`."""
    return dict(_withheld(jobs))


def withheld_headers(jobs: FetchedJobs) -> dict[str, str]:
    """Return the reasons for withheld jobs as headers, for answers that are a bare list."""
    return {f"OJS-Worker-{name.capitalize()}": word for name, word in _withheld(jobs)}


def _withheld(jobs: FetchedJobs) -> list[tuple[str, str]]:
    reason = jobs.withheld
    if reason is None:
        return []
    named = (("state", reason.state), ("presence", reason.presence))
    return [(name, word) for name, word in named if word is not None]


def stored_of(claimed: Claimed) -> StoredJob:
    """Return the record of a job that is handed to a worker."""
    return StoredJob(claimed.job, claimed.args, claimed.meta, parent_results=claimed.parent_results)


def _job_types(names: list[str] | None, any_type: bool) -> tuple[str, ...] | None:
    for name in names or ():
        if not is_job_type(name, any_type=any_type):
            raise invalid("job_types", "must hold job types, like email.send")
    return tuple(dict.fromkeys(names)) if names else None


def _serving(terms: FetchTerms) -> ServingOrder | None:
    weights = parse_weights("weights", terms.weights or {})
    strategy = parse_strategy("strategy", terms.strategy) or ("weighted" if weights else None)
    # The default order does not need the queues' settings.
    if strategy is None or strategy == "strict":
        return None
    return ServingOrder(None, strategy, tuple(sorted(weights.items())))


def fetch_id_of(name: str | None) -> str | None:
    """Return the id that a worker gave its FETCH, by which it can be repeated."""
    if name is not None and not name.isprintable():
        raise invalid("fetch_id", f"must be 1 to {MAX_NAME} printable characters")
    return name


def _lease_ms(request: FetchTerms) -> int | None:
    if request.visibility_timeout_ms:
        return request.visibility_timeout_ms
    if request.visibility_timeout is None:
        return None
    try:
        return parse_duration(request.visibility_timeout, 1000) or None
    except ValueError as error:
        raise invalid("visibility_timeout", str(error)) from None


ROUTES: Final = (
    Route("POST", "/workers/fetch", fetch, WORK, waits=True, tenanted=True, produces=True),
)
