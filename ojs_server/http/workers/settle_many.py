"""Many ACKs and FAILs in one call, and a FETCH behind them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ojs_server.domain.errors import MalformedPayload, OjsError, TooLarge, invalid
from ojs_server.domain.jobs.job import Change, Job, State
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.http.access.roles import WORK
from ojs_server.http.call import Answer, Call, parsed
from ojs_server.http.errors import error_object
from ojs_server.http.hot_call import HotCall, Prepared
from ojs_server.http.ids import known_as
from ojs_server.http.jobs.views import array
from ojs_server.http.route import Route
from ojs_server.http.workers.ack import result_of
from ojs_server.http.workers.fetch import (
    claim_of,
    fetched,
    wait_for_jobs,
    wait_of,
    withheld_members,
)
from ojs_server.ops.jobs.settle import Ack, Fail, Repeated, missing
from ojs_server.ops.workers.claim import Claim, FetchedJobs
from ojs_server.ops.workers.settle_and_fetch import (
    SettleAndFetch,
    SettledAndFetched,
    Settlement,
    SettlementOutcome,
)
from ojs_wire import codec, codes
from ojs_wire.calls import MAX_RESULTS, FetchTerms, SettleRequest
from ojs_wire.calls import Settlement as Given
from ojs_wire.values import UUID7, format_timestamp, kind_of

Part = TypeVar("Part", bound=msgspec.Struct)

_decoder: Final = msgspec.json.Decoder(SettleRequest)


class _Done(msgspec.Struct, omit_defaults=True):
    """The answer for one settled job."""

    job_id: str
    attempt: int
    state: str | UnsetType = UNSET
    next_attempt_at: str | UnsetType = UNSET
    retry_delay_ms: int | UnsetType = UNSET
    repeated: bool | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET


class _ReadRequest(msgspec.Struct, frozen=True):
    """The request of a call as it was read, from which its answer is made together with the
    outcome."""

    given: Sequence[Given]
    taken: Sequence[Settlement | OjsError]
    headers: Mapping[str, str] = {}


def _settle(call: Call, body: bytes) -> Prepared:
    request = _request(call, body)
    worker_id = known_as(call, request.worker_id)
    with _inside("fetch"):
        terms = request.fetch
        claim = (
            None
            if terms is None
            else claim_of(call.tenant, terms, worker_id, any_type=call.any_type)
        )
    taken = [_taken(call, worker_id, given) for given in request.results]
    settlements = tuple(item for item in taken if not isinstance(item, OjsError))
    operation = SettleAndFetch(settlements, claim)
    if request.fetch is not None and claim is not None and not request.results:
        # Without results this is a plain FETCH, which may wait for jobs.
        wait_ms, headers = wait_of(call, request.fetch.wait_ms)
        return Prepared(
            operation, partial(_fetch, call, claim, wait_ms), _ReadRequest((), (), headers)
        )
    about = _ReadRequest(request.results, taken)
    return Prepared(operation, None if operation.parts else _nothing, about)


async def _fetch(call: Call, claim: Claim, wait_ms: int) -> SettledAndFetched:
    return SettledAndFetched((), await wait_for_jobs(call, claim, wait_ms))


async def _nothing() -> SettledAndFetched:
    """Return an empty outcome, as no settlement is left."""
    return SettledAndFetched((), FetchedJobs())


def _settled(call: Call, prepared: Prepared, done: SettledAndFetched) -> Answer:
    about: _ReadRequest = prepared.about
    settled = iter(done.settled)
    shown = [
        _shown(
            given,
            settlement if isinstance(settlement, OjsError) else next(settled),
            call.request_id,
        )
        for given, settlement in zip(about.given, about.taken, strict=True)
    ]
    members = withheld_members(done.jobs)
    if done.refusal is not None:
        members["fetch_error"] = error_object(done.refusal, call.request_id)
    body = _body(shown, array("jobs", fetched(call, done.jobs), **members))
    return Answer(body, headers=about.headers)


# Settles all jobs that may be settled, then fetches; a refusal affects only its own job.
settle: Final = HotCall(_settle, _settled)


def _taken(call: Call, worker_id: str, given: Given) -> Settlement | OjsError:
    """Return one settlement, or the error that refuses it."""
    if not UUID7.fullmatch(given.job_id):
        return missing(given.job_id[:100])
    try:
        if given.outcome == "ack":
            limit = call.server.settings.max_result_bytes
            return Ack(
                given.job_id,
                worker_id,
                given.attempt,
                result_of(given.result, limit),
                tenant=call.tenant,
            )
        fault = parse_fault(given.error)
        return Fail(
            given.job_id,
            fault,
            worker_id,
            given.attempt,
            bool(given.requeue),
            tenant=call.tenant,
        )
    except OjsError as error:
        return error


def _shown(given: Given, settled: SettlementOutcome, request_id: str) -> _Done:
    done = _Done(given.job_id[:100], given.attempt)
    if isinstance(settled, Change):
        _show(done, settled.after)
    elif isinstance(settled, Repeated):
        _show(done, settled.after)
        done.repeated = True
    else:
        done.error = error_object(settled, request_id)
    return done


def _show(done: _Done, job: Job) -> None:
    done.state = job.state
    if job.state == State.RETRYABLE and job.due_at is not None and job.retry_delay_ms is not None:
        done.next_attempt_at = format_timestamp(job.due_at)
        done.retry_delay_ms = job.retry_delay_ms


def _body(shown: Sequence[_Done], jobs: bytes) -> bytes:
    return b'{"results":' + codec.encode(shown) + b"," + jobs[1:]


def _request(call: Call, body: bytes) -> SettleRequest:
    if not call.server.settings.strict:
        try:
            with suppress(msgspec.ValidationError):
                return codec.decode_as(body, _decoder)
        except codec.MalformedJSON as error:
            if body:
                raise MalformedPayload(f"the body is not valid JSON: {error}") from None
    return _with_care(call, parsed(body))


def _with_care(call: Call, value: dict[str, Any]) -> SettleRequest:
    """Parse part by part, so that each error names its place."""
    results = value.get("results", [])
    if not isinstance(results, list):
        raise invalid("results", f"must be an array, not {kind_of(results)}")
    if len(results) > MAX_RESULTS:
        raise TooLarge(
            f"`results` holds {len(results)} results; at most {MAX_RESULTS} are allowed",
            code=codes.BATCH_SIZE_EXCEEDED,
            details={"field": "results", "size": len(results), "max_batch_size": MAX_RESULTS},
            headers={"X-OJS-Max-Batch-Size": str(MAX_RESULTS)},
        )
    terms = value.get("fetch")
    head = call.typed({**value, "results": [], "fetch": None}, SettleRequest)
    return SettleRequest(
        head.worker_id,
        [_part(call, f"results[{index}]", result, Given) for index, result in enumerate(results)],
        None if terms is None else _part(call, "fetch", terms, FetchTerms),
    )


def _part(call: Call, where: str, value: Any, shape: type[Part]) -> Part:
    if not isinstance(value, dict):
        raise invalid(where, f"must be an object, not {kind_of(value)}")
    with _inside(where):
        return call.typed(value, shape)


@contextmanager
def _inside(where: str) -> Iterator[None]:
    """Return an error whose field includes the place of its part."""
    try:
        yield
    except OjsError as error:
        field = (error.details or {}).get("field")
        details = {**(error.details or {}), "field": f"{where}.{field}"}
        message = error.message.replace(f"`{field}`", f"`{where}.{field}`", 1)
        raise type(error)(message, details=details, code=error.answer_code) from None


ROUTES: Final = (
    Route("POST", "/workers/settle", settle, WORK, waits=True, tenanted=True, produces=True),
)
