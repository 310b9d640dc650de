"""Faults of ACK, FAIL and the call that settles many jobs."""

from typing import Any

import msgspec

from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs import deadlines, lifecycle
from ojs_server.domain.jobs.job import Change, Job, State
from ojs_server.domain.jobs.repeated_settlement import acknowledged_before
from ojs_server.domain.jobs.reported_error import Fault, entries
from ojs_server.http.workers import ack
from ojs_server.ops.jobs import settle
from ojs_server.ops.workers import settle_and_fetch
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import V1, change_answer, change_request, drop_members

ACK = "/workers/ack"
NACK = "/workers/nack"


def _also_legal(call: str, state: str) -> None:
    put(lifecycle, "LEGAL", {**lifecycle.LEGAL, call: lifecycle.LEGAL[call] | {state}})


@fault("OJS-SET-028")
def empty_results_are_null() -> None:
    """A result that is an empty array becomes null."""
    change_request("/workers/ack", lambda body, _: body.update(result=body.get("result") or None))


@fault("OJS-SET-002")
def acks_are_accepted_twice() -> None:
    """A completed job may be completed again."""
    _also_legal("ack", State.COMPLETED)


@fault("OJS-SET-039")
def answers_name_no_job() -> None:
    """The answer to an ACK does not say of which job it is."""

    def without(body: dict[str, Any]) -> None:
        body.pop("id", None)
        body.pop("job_id", None)

    change_answer(f"{V1}{ACK}", without, status=200)


@fault("OJS-SET-026")
def repeated_acks_are_refused() -> None:
    """The ACK that completed a job is a conflict when it is sent again."""
    put(settle, "acknowledged_before", lambda *_: False)


@fault("OJS-SET-026")
def strangers_repeat_acks() -> None:
    """Any worker that knows the delivery is told that it has completed the job."""

    def known(ack: settle.Ack, work: object, job: Job) -> bool:
        return acknowledged_before(job, ack.attempt)

    put(settle.Ack, "repeats", known)


@fault("OJS-SET-026")
def repeated_acks_pass_for_new_ones() -> None:
    """The answer to a repeated ACK does not say that it is one."""
    change_answer(V1 + ACK, lambda body: body.pop("repeated", None), status=200)


@fault("OJS-SET-027")
def repeated_fails_are_refused() -> None:
    """The FAIL that ended a delivery is a conflict when it is sent again."""
    put(settle, "failed_before", lambda *_: False)


@fault("OJS-SET-027")
def strangers_repeat_fails() -> None:
    """Any worker that knows the delivery and its error is told that it has failed the job."""

    def known(job: Job, attempt: int, worker_id: str, fault: Fault) -> bool:
        return any(noted.attempt == attempt for noted in entries(job.errors))

    put(settle, "failed_before", known)


@fault("OJS-SET-027")
def jobs_given_back_forget_it() -> None:
    """A FAIL that gave the job back is a conflict when it is sent again."""
    put(settle, "given_back_before", lambda *_: False)


@fault("OJS-SET-027")
def repeated_fails_pass_for_new_ones() -> None:
    """The answer to a repeated FAIL does not say that it is one."""
    change_answer(V1 + NACK, lambda body: body.pop("repeated", None), status=200)


@fault("OJS-SET-008")
def late_acks_are_accepted() -> None:
    """An ACK after the lease was lost completes a job that waits."""
    _also_legal("ack", State.AVAILABLE)


@fault("OJS-LAT-003")
def strangers_complete_late() -> None:
    """Any worker may complete a delivery late, not only the one that lost it."""
    put(settle, "delivery_of", lambda noted, *_: next(iter(noted), None))


@fault("OJS-LAT-004")
def late_acks_have_the_newest_number() -> None:
    """A job that was completed late has the number of the delivery that was under way."""

    def numbered(change: Change, job: Job, *_: object, **__: object) -> Change:
        later = msgspec.structs.replace(change.after, attempt=job.attempt)
        return msgspec.structs.replace(change, after=later)

    after(lifecycle, "acknowledge_late", numbered)


@fault("OJS-LAT-007")
def slow_work_costs_attempts() -> None:
    """A lease that runs out counts, although the job may be completed late."""
    after(deadlines, "loss", lambda loss, *_: msgspec.structs.replace(loss, free=False))


@fault("OJS-SET-003")
def anybody_settles() -> None:
    """Any worker may settle the job of another one."""
    wrap(
        lifecycle,
        "require_holder",
        lambda require: lambda job, lease, worker_id, attempt: require(job, lease, None, attempt),
    )


@fault("OJS-SET-006")
def any_delivery_settles() -> None:
    """The number of the delivery is not looked at."""
    wrap(
        lifecycle,
        "require_holder",
        lambda require: lambda job, lease, worker_id, attempt: require(job, lease, worker_id, None),
    )


@fault("OJS-SET-012")
def results_get_lost() -> None:
    """An ACK's result is not stored."""
    drop_members(ACK, "result")


@fault("OJS-SET-013")
def errors_outlive_success() -> None:
    """A completed job still shows the error of an earlier attempt."""

    def keep(change: Change, job: Job, *_: object, **__: object) -> Change:
        completed = msgspec.structs.replace(change.after, error=job.error)
        return msgspec.structs.replace(change, after=completed)

    after(lifecycle, "acknowledge", keep)


@fault("OJS-SET-014")
def large_results_are_kept() -> None:
    """A result may be twice as large as the manifest says."""
    wrap(ack, "result_of", lambda check: lambda given, limit: check(given, 2 * limit))


@fault("OJS-SET-011")
def acks_do_not_say_when() -> None:
    """The answer to an ACK has no completed_at."""
    change_answer(V1 + ACK, lambda body: body.pop("completed_at", None), status=200)


@fault("OJS-SET-021")
def requeues_cost_an_attempt() -> None:
    """A requeued delivery counts against max_attempts."""
    after(lifecycle, "_release", lambda change, job, _: _with_releases(change, job))


@fault("OJS-SET-023")
def snoozes_cost_an_attempt() -> None:
    """A snoozed delivery counts against max_attempts."""
    after(lifecycle, "_snooze", lambda change, job, *_: _with_releases(change, job))


def _with_releases(change: Change, job: Job) -> Change:
    counted = msgspec.structs.replace(change.after, releases=job.releases)
    return msgspec.structs.replace(change, after=counted)


@fault("OJS-QUE-002")
def requeued_jobs_join_the_end() -> None:
    """A requeued job loses its place in the queue."""

    def last(change: Change, op: Any, work: Any, *_: object) -> Change:
        if not op.requeue:
            return change
        moved = msgspec.structs.replace(change.after, seq=work.tx.position())
        return msgspec.structs.replace(change, after=moved)

    after(settle.Fail, "decide", last)


@fault("OJS-RET-011")
def final_errors_are_retried() -> None:
    """A FAIL that says `retryable: false` is retried."""
    change_request(NACK, lambda body, _: _error(body).pop("retryable", None))


@fault("OJS-SET-022")
def handlers_have_no_say() -> None:
    """The outcome that a handler asks for is ignored."""
    put(Fault, "action", property(lambda _: "retry"))


def _error(body: dict[str, Any]) -> dict[str, Any]:
    error = body.get("error")
    return error if isinstance(error, dict) else {}


@fault("OJS-STL-006")
def failures_are_settled_as_done() -> None:
    """Among many results a failure counts as a success."""

    def all_done(body: dict[str, Any]) -> None:
        for result in body.get("results", ()):
            result["outcome"] = "ack"

    change_request("/workers/settle", lambda body, _: all_done(body))


@fault("OJS-STL-007")
def one_refusal_refuses_all() -> None:
    """One refused result of many has all of them answered as refused."""

    def refuse(body: dict[str, Any]) -> None:
        refused = [result["error"] for result in body.get("results", ()) if "error" in result]
        for result in body.get("results", ()) if refused else ():
            result.pop("state", None)
            result["error"] = refused[0]

    change_answer(f"{V1}/workers/settle", refuse, status=200)


@fault("OJS-STL-014")
def repetitions_are_refused() -> None:
    """A settlement that is sent again among many is a conflict."""

    def refuse(done: Any, *_: object) -> Any:
        settled = [
            Conflict("it is settled") if isinstance(one, settle.Repeated) else one
            for one in done.settled
        ]
        return msgspec.structs.replace(done, settled=settled)

    after(settle_and_fetch.SettleAndFetch, "outcome", refuse)


@fault("OJS-STL-017")
def a_refused_fetch_refuses_the_call() -> None:
    """A settle call of a worker that may not fetch says nothing of its settlements."""
    after(
        settle_and_fetch.SettleAndFetch,
        "outcome",
        lambda done, *_: getattr(done, "refusal", None) or done,
    )
