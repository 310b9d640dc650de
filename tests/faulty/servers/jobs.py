"""Faults of stored jobs: reading, cancelling, counting, listing, dead letters, and many at once."""

from collections.abc import Callable
from typing import Any

import msgspec

from ojs_server.domain.jobs import lifecycle
from ojs_server.domain.jobs.job import WAITING, Change, Job, State
from ojs_server.http import dialects
from ojs_server.http.jobs import bulk, history, result
from ojs_server.http.queues import read as queues
from ojs_server.http.queues import removal
from ojs_server.ops.jobs import enqueue
from ojs_server.ops.unit_of_work import Work
from ojs_server.store.tables.dead_letters import DeadLetterWrites
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import V1, change_answer, change_query, change_request, drop_members

DEAD = f"{V1}/dead-letter"


@fault("OJS-LIF-020")
def held_jobs_cannot_be_cancelled() -> None:
    """A cancel of a job that a worker holds is answered, and nothing happens."""

    def nothing(change: Change, job: Job, *_: object) -> Change:
        return Change(job, job, ()) if job.state == State.ACTIVE else change

    after(lifecycle, "cancel", nothing)


@fault("OJS-ENV-016")
def ended_jobs_forget_their_start() -> None:
    """A job that is read after its end has no `started_at`."""

    def forget(body: dict[str, Any]) -> None:
        job = body.get("job")
        if isinstance(job, dict) and job.get("state") in ("completed", "discarded"):
            job.pop("started_at", None)

    change_answer(f"{V1}/jobs/[^/]+", forget, status=200)


@fault("OJS-LIF-001")
def a_state_is_misspelt() -> None:
    """A cancelled job is `canceled`."""

    def misspell(body: dict[str, Any]) -> None:
        for part in (body, body.get("job")):
            if isinstance(part, dict) and part.get("state") == "cancelled":
                part["state"] = "canceled"

    change_answer(f"{V1}/jobs.*", misspell, status=200)


@fault("OJS-LIF-004")
def time_promotes_nothing() -> None:
    """A scheduled job stays scheduled when its time has come."""
    wrap(
        lifecycle,
        "mature",
        lambda mature: (
            lambda job, *more: (
                Change(job, msgspec.structs.replace(job, due_at=job.due_at + 3_600_000), ())
                if job.state == State.SCHEDULED and job.scheduled_at == job.due_at
                else mature(job, *more)
            )
        ),
    )


@fault("OJS-LIF-013")
def activation_jumps_the_queue() -> None:
    """An activated job comes before those that wait."""
    after(
        lifecycle,
        "activate",
        lambda change, *_: msgspec.structs.replace(
            change, after=msgspec.structs.replace(change.after, seq=-1)
        ),
    )


@fault("OJS-JOB-009")
def results_come_too_early() -> None:
    """The result of a job that has not ended is answered with 200."""
    change_answer(f"{V1}/jobs/[^/]+/result", status=202, becomes=200)


@fault("OJS-JOB-010")
def nobody_waits_for_results() -> None:
    """`wait=true` is ignored."""
    put(result, "_wait", lambda call: 0)


def _counted(change: Any) -> None:
    def both(body: dict[str, Any]) -> None:
        if isinstance(body.get("queue"), dict):
            change(body["queue"])

    change_answer(f"{V1}/queues/[^/]+/stats", both, status=200)


@fault("OJS-QUE-006")
def counts_mix_states() -> None:
    """Held jobs are counted as available."""

    def mix(counts: dict[str, Any]) -> None:
        counts["available"] += counts["active"]
        counts["active"] = 0

    _counted(mix)


@fault("OJS-QUE-009")
def counts_forget_the_cancelled() -> None:
    """A cancelled job is in no count."""
    _counted(lambda counts: counts.update(cancelled=0))


@fault("OJS-QUE-008")
def depth_counts_held_jobs() -> None:
    """The depth of a queue has the jobs in it that workers hold."""
    put(queues, "WAITING", (*WAITING, State.ACTIVE))


@fault("OJS-QCF-014")
def purges_take_held_jobs() -> None:
    """A purge removes jobs that workers hold."""
    put(removal, "PURGEABLE", (*removal.PURGEABLE, State.ACTIVE))


@fault("OJS-QCF-013")
def purges_need_no_word() -> None:
    """A purge is carried out without `confirm`."""
    change_request("/queues/[^/]+/jobs", lambda body, _: body.update(confirm=True))


@fault("OJS-QCF-012")
def queues_take_every_type() -> None:
    """`allowed_job_types` is stored, and does not count."""
    put(enqueue, "require_type", lambda *_: None)


@fault("OJS-BLK-017")
def pages_overlap() -> None:
    """The next page of a list of jobs begins with the last job of the one before."""

    def step_back(body: dict[str, Any]) -> None:
        if len(body["jobs"]) > 1 and "next_cursor" in body["pagination"]:
            body["pagination"]["next_cursor"] = body["jobs"][-2]["id"]

    change_answer(f"{V1}/jobs", step_back, status=200)


@fault("OJS-BLK-018")
def full_pages_have_more() -> None:
    """A full page of jobs says that there is more."""

    def more(body: dict[str, Any]) -> None:
        mark = body["pagination"]
        if body["jobs"] and len(body["jobs"]) == mark["limit"]:
            mark |= {"has_more": True, "next_cursor": body["jobs"][-1]["id"]}

    change_answer(f"{V1}/jobs", more, status=200)


@fault("OJS-BLK-036")
def the_first_state_counts() -> None:
    """Of several states that are asked for only the first counts."""

    def first(query: dict[str, str]) -> None:
        for name in ("state", "states"):
            if name in query:
                query[name] = query[name].split(",")[0]

    change_query(first)


@fault("OJS-BLK-033")
def calls_about_many_ignore_what_they_do_not_know() -> None:
    """Bulk calls ignore members that they do not know."""
    put(bulk, "refuse_unknown_of_many", lambda *_: None)


@fault("OJS-BLK-034")
def dry_runs_are_carried_out() -> None:
    """A dry run of a bulk call changes the jobs."""
    drop_members("/jobs/bulk/.*", "dry_run")


@fault("OJS-BLK-035")
def lists_name_no_worker() -> None:
    """A job that a worker holds has no `worker_id` in lists."""

    def nameless(body: dict[str, Any]) -> None:
        for job in body["jobs"]:
            job.pop("worker_id", None)

    change_answer(f"{V1}/jobs", nameless, status=200)


@fault("OJS-BLK-007")
def filters_need_no_word() -> None:
    """A call by filter is carried out without `confirm`."""
    change_request("/jobs/bulk/.*", lambda body, _: body.update(confirm=True))


@fault("OJS-BLK-027")
def filters_always_need_a_word() -> None:
    """A cancel or retry by filter is refused without `confirm`."""
    put(dialects, "is_administration", lambda call: True)


@fault("OJS-BLK-022")
def all_or_nothing_is_some() -> None:
    """`atomicity` is ignored."""
    drop_members("/jobs/bulk", "atomicity")


@fault("OJS-DLQ-021")
def some_letters_are_not_listed() -> None:
    """Only jobs whose policy says `dead_letter` are listed."""

    def choose(body: dict[str, Any]) -> None:
        wanted = "dead_letter"
        body["jobs"] = [
            job for job in body["jobs"] if job.get("retry", {}).get("on_exhaustion") == wanted
        ]

    change_answer(DEAD, choose, status=200)


@fault("OJS-DLQ-022")
def old_letters_come_first() -> None:
    """Dead letters are listed with the longest discarded first."""
    change_answer(DEAD, lambda body: body["jobs"].reverse(), status=200)


def _revived(**members: Any) -> None:
    def keep(change: Change, job: Job, *_: object) -> Change:
        kept = {name: make(job) for name, make in members.items()}
        return msgspec.structs.replace(change, after=msgspec.structs.replace(change.after, **kept))

    after(lifecycle, "revive", keep)


@fault("OJS-DLQ-006")
def replays_keep_the_attempt() -> None:
    """A dead letter that is tried again has its attempts behind it."""
    _revived(attempt=lambda job: job.attempt)


@fault("OJS-DLQ-023")
def replays_forget_the_history() -> None:
    """A dead letter that is tried again has no errors."""
    _revived(errors=lambda job: None)


@fault("OJS-DLQ-008")
def deleted_letters_stay() -> None:
    """A delete is answered, and the job is still there."""
    put(Work, "remove", lambda self, jobs: None)


@fault("OJS-DLQ-011")
def one_dead_letter_too_few() -> None:
    """A queue keeps one dead letter less than it has room for."""

    def make(load: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, most, own, limit: load(self, most - 1, own, limit)

    wrap(DeadLetterWrites, "load_surplus", make)


@fault("OJS-DLQ-020")
def groups_know_only_their_size() -> None:
    """The groups of dead letters do not say what was made last."""

    def forget(body: dict[str, Any]) -> None:
        for group in body["groups"]:
            group["newest_id"] = None

    change_answer(f"{V1}/dead-letter/stats", forget, status=200)


@fault("OJS-DLQ-016")
def replays_change_nothing() -> None:
    """`override` is ignored."""
    drop_members("/dead-letter/[^/]+/retry", "override")


@fault("OJS-JOB-012")
def histories_forget_failures() -> None:
    """Attempts that failed and were followed by others are not in the history of a job."""
    after(
        history,
        "history_of",
        lambda found, *_: msgspec.structs.replace(
            found, happenings=[one for one in found.happenings if one.type != "job.failed"]
        ),
    )
