"""Faults of BEAT, of directives, and of workers that come, go and die."""

from contextlib import nullcontext
from typing import Any

import msgspec

from ojs_server.domain.workers import fetch_policy, staleness
from ojs_server.domain.workers.worker import Worker
from ojs_server.http.admin import workers as admin_workers
from ojs_server.ops import sweep
from ojs_server.ops.engine import signs
from ojs_server.ops.workers import eligibility, heartbeat, presence, signs_of_life
from ojs_server.store.tables.leases import LeaseWrites
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import V1, change_answer

BEAT = f"{V1}/workers/heartbeat"


def leave_alone(why: presence.DeathCause) -> None:
    """Take no workers for dead for this reason."""

    def spared(found: tuple[list[Worker], list[Worker]], *_: object) -> Any:
        silent, dropped = found
        return ([], dropped) if why is presence.DEATH else (silent, [])

    after(sweep, "lock_dead", spared)


@fault("OJS-WRK-033")
def the_dead_keep_their_jobs() -> None:
    """Silent workers are not declared dead."""
    leave_alone(presence.DEATH)


@fault("OJS-WRK-031")
def fetching_counts_as_registering() -> None:
    """A worker that only fetched is judged as if it had been silent since it registered."""
    wrap(eligibility, "Worker", lambda made: lambda **members: made(**members, alive_at=1))


@fault("OJS-WRK-035")
def the_dead_ask_in_vain() -> None:
    """A worker that was declared dead is handed nothing until it beats or registers."""
    put(eligibility, "revived", lambda work, worker: worker)
    wrap(
        eligibility,
        "withheld",
        lambda withheld: (
            lambda worker, *more: (
                fetch_policy.Withheld() if worker.gone_at else withheld(worker, *more)
            )
        ),
    )


def _only_seen(work: Any, worker: Worker, at: int) -> Worker:
    return msgspec.structs.replace(worker, seen_at=at)


@fault("OJS-WRK-040")
def fetches_are_no_sign_of_life() -> None:
    """Only BEATs and registrations keep a worker from being declared dead."""
    for module in (eligibility, signs_of_life):
        put(module, "seen", _only_seen)


@fault("OJS-WRK-040")
def fetches_that_wait_say_nothing() -> None:
    """A FETCH is a sign of life only when it arrives, not while it waits."""
    put(signs.Signs, "held", lambda *_: nullcontext())


@fault("OJS-WRK-020")
def directives_are_told_once() -> None:
    """A directive is forgotten after one BEAT."""
    put(heartbeat, "standing_directive", lambda directive, reported: None)


@fault("OJS-WRK-021")
def resuming_never_ends() -> None:
    """A resume stands after the worker runs again."""
    put(heartbeat, "standing_directive", lambda directive, reported: directive)


@fault("OJS-WRK-047")
def quiet_is_not_answered() -> None:
    """A worker that reports quiet is told to run."""
    wrap(
        heartbeat,
        "directed_state",
        lambda directed: lambda reported, *more: directed(type(reported)("running"), *more),
    )


@fault("OJS-WRK-010")
def lost_jobs_are_not_told() -> None:
    """A BEAT never says that a job is lost."""
    change_answer(BEAT, lambda body: body.update(jobs_lost=[]), status=200)


@fault("OJS-WRK-011")
def cancelled_jobs_are_told_as_lost() -> None:
    """A cancelled job is among the lost ones."""

    def mix(body: dict[str, Any]) -> None:
        body["jobs_lost"] += body.pop("cancelled_jobs")
        body["cancelled_jobs"] = []

    change_answer(BEAT, mix, status=200)


@fault("OJS-WRK-018")
def everybody_is_known() -> None:
    """The answer to a BEAT of an unknown worker says that it was known."""
    change_answer(BEAT, lambda body: body.update(registered=True), status=200)


@fault("OJS-WRK-028")
def leavers_keep_their_jobs() -> None:
    """Deregistering gives no job back."""
    put(LeaseWrites, "load_held", lambda tx, workers: [])


@fault("OJS-ADM-029")
def workers_that_only_fetch_are_never_stale() -> None:
    """A worker that only fetches is not stale, however long it is silent."""
    after(staleness, "is_stale", lambda stale, worker, *_: stale and worker.alive_at is not None)


@fault("OJS-ADM-029")
def workers_that_left_are_listed() -> None:
    """A worker that deregistered is counted and listed like the others."""
    put(staleness, "has_left", lambda worker: False)
    put(admin_workers, "has_left", lambda worker: False)


def _registered(change: Any) -> None:
    after(
        presence,
        "register",
        lambda worker, work, op, known: msgspec.structs.replace(worker, **change(worker, known)),
    )


@fault("OJS-WRK-027")
def registering_is_a_beat() -> None:
    """A registration sets the moment of the last BEAT."""
    _registered(lambda worker, known: {"beat_at": worker.alive_at})


@fault("OJS-WRK-026")
def lives_are_not_counted() -> None:
    """Registering again leaves the incarnation as it was."""

    def same(worker: Worker, known: Worker | None) -> dict[str, Any]:
        return {"incarnation": known.incarnation if known else worker.incarnation}

    _registered(same)


@fault("OJS-WRK-039")
def everybody_is_well() -> None:
    """The health of a worker is always 200."""
    change_answer(f"{V1}/workers/[^/]+/health", becomes=200)
