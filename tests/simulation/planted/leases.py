"""Leases and workers: who holds a job, and for how long."""

from typing import Any

import msgspec

from ojs_server.domain.jobs import lifecycle
from ojs_server.loops.reachability import Reachability
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.sweep import Sweep
from ojs_server.ops.workers import claim, fetch, heartbeat, presence
from ojs_server.store.clock import RisingClock
from tests.faulty.planting import after, put, wrap
from tests.simulation.planted.registry import planted


def _holder_is_checked(*, worker: bool, attempt: bool) -> None:
    def make(require: Any) -> Any:
        return lambda job, lease, worker_id, number: require(
            job, lease, worker_id if worker else None, number if attempt else None
        )

    wrap(lifecycle, "require_holder", make)


@planted(sees="settlements", needs="a worker that lost its lease settles the job of another one")
def neither_holder_nor_attempt_is_checked() -> None:
    """An ACK or FAIL counts for a job that another worker holds in a later delivery."""
    _holder_is_checked(worker=False, attempt=False)


@planted(sees="settlements", needs="a late outcome of a worker that has the job again")
def attempts_are_not_checked() -> None:
    """An ACK or FAIL of an earlier delivery counts for a later one to the same worker."""
    _holder_is_checked(worker=True, attempt=False)


@planted(sees="settlements", needs="a client that fetched without a fetch_id, or a late ACK")
def every_ack_may_be_late() -> None:
    """An ACK after the lease was lost completes the job, though its FETCH did not ask for that."""
    after(
        claim,
        "_hand_over",
        lambda fetched, *_: msgspec.structs.replace(
            fetched, lease=msgspec.structs.replace(fetched.lease, late_ack=True)
        ),
    )


@planted(sees="lost jobs", needs="a lease that lapses while its worker lives", like="0029")
def lost_jobs_are_not_told() -> None:
    """The answer to a BEAT names no lost jobs, so that a revived worker keeps its old ones."""
    put(
        heartbeat,
        "Beaten",
        lambda **members: _Beaten(**{**members, "lost": (), "cancelled": ()}),
    )


_Beaten = heartbeat.Beaten


@planted(sees="progress of jobs", needs="a worker that is silent until it is declared dead")
def jobs_of_dead_workers_stay_theirs() -> None:
    """A worker that is declared dead keeps its jobs until their leases end."""

    def make(leave: Any) -> Any:
        def buried(work: Any, workers: Any, why: Any, recovery: Any) -> Any:
            if why is presence.DEATH:
                applied, work.apply = work.apply, lambda changes: None
                try:
                    return leave(work, workers, why, recovery)
                finally:
                    work.apply = applied
            return leave(work, workers, why, recovery)

        return buried

    wrap(presence, "leave", make)


@planted(sees="exclusion", needs="a worker that beats for a job that another one has")
def any_worker_renews_a_lease() -> None:
    """A BEAT renews the lease of a job that another worker holds, and says that it is held."""

    def make(held: Any) -> Any:
        def everybodys(op: Any, leases: Any, *, unlisted: bool) -> Any:
            mine = {
                job_id: msgspec.structs.replace(lease, worker_id=op.worker_id)
                for job_id, lease in leases.items()
            }
            return held(op, mine, unlisted=unlisted)

        return everybodys

    wrap(heartbeat, "_held", make)


@planted(sees="living workers", needs="a worker with two jobs, one longer than its lease")
def only_the_first_job_is_renewed() -> None:
    """A BEAT renews the lease of the first job that it lists alone."""
    after(heartbeat, "_renewals", lambda renewed, *_: renewed[:1])


@planted(sees="living workers", needs="a handler that runs longer than its lease")
def beats_renew_nothing() -> None:
    """A BEAT renews no lease, and says that it does."""
    put(heartbeat, "_renewals", lambda work, op, held: [])


@planted(sees="attempts", needs="a lapse")
def a_lapse_counts_two_attempts() -> None:
    """A lost lease adds one to the attempts, as the next delivery does."""
    after(
        lifecycle,
        "lapse",
        lambda change, *_, **__: msgspec.structs.replace(
            change, after=msgspec.structs.replace(change.after, attempt=change.after.attempt + 1)
        ),
    )


@planted(sees="attempts", needs="jobs that lapse until their attempts are used up")
def a_lapse_counts_no_attempt() -> None:
    """A delivery whose lease was lost does not count as an attempt."""

    def make(lapse: Any) -> Any:
        return lambda *args, **named: lapse(*args, **{**named, "free": True})

    wrap(lifecycle, "lapse", make)


@planted(sees="progress of jobs", needs="a wall clock that steps back")
def the_clock_stands_when_it_is_set_back() -> None:
    """Time stands still until the wall clock, which was set back, has made up for it."""

    def read(self: RisingClock) -> int:
        self._last = max(self._wall(), self._last)
        return self._last

    put(RisingClock, "__call__", read)


@planted(sees="events", needs="a wall clock that steps back")
def the_clock_steps_back() -> None:
    """Times of the store step back with the wall clock."""
    put(RisingClock, "__call__", lambda self: self._wall())


@planted(
    sees="living workers", needs="BEATs that the store refuses for a lease's time", like="5ea11f6e"
)
def leases_are_judged_over_outages() -> None:
    """Leases are judged over a time in which no heartbeat could be stored."""

    def make(observe: Any) -> Any:
        def never_interrupted(self: Reachability, *args: Any) -> int:
            observe(self, *args)
            self.since = 0
            return 0

        return never_interrupted

    wrap(Reachability, "observe", make)


@planted(
    sees="living workers",
    needs="a sweep that waits for longer than a BEAT behind it",
    like="dca451f1",
)
def sweeps_judge_by_their_own_moment() -> None:
    """A sweep judges leases by the time at which it is carried out, before BEATs that wait."""
    put(Sweep, "arrived_until", lambda self, now: now)


@planted(
    sees="exclusion", needs="a FETCH that is repeated while its first try waits", like="fdd1a4bb"
)
def jobs_are_given_back_in_spite_of_a_repetition() -> None:
    """A FETCH whose caller is gone gives back jobs that its repetition was answered with."""

    class Plainly:
        """An engine that carries out the claim in place of the one without its fetch_id."""

        def __init__(self, engine: Engine, claim: claim.Claim, plain: claim.Claim) -> None:
            self._engine, self._claim, self._plain = engine, claim, plain

        def __getattr__(self, name: str) -> Any:
            return getattr(self._engine, name)

        def run(self, op: Any) -> Any:
            return self._engine.run(self._claim if op is self._plain else op)

    def make(wait: Any) -> Any:
        async def forgetful(engine: Any, claim: Any, *rest: Any) -> Any:
            plain = msgspec.structs.replace(claim, fetch_id=None)
            return await wait(Plainly(engine, claim, plain), plain, *rest)

        return forgetful

    wrap(fetch, "_wait", make)


@planted(sees="lost jobs", needs="a FETCH whose answer is lost", like="bfb1b0ec")
def repeated_fetches_get_new_jobs() -> None:
    """A FETCH that is sent again gets other jobs than at first, which its worker never hears of."""
    put(claim, "_repeated", lambda work, ops: {})
