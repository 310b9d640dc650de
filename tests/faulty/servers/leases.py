"""Faults of leases and of the limits of time."""

import msgspec

from ojs_server.domain.jobs import deadlines
from ojs_server.ops import sweep
from ojs_server.ops.workers import heartbeat
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import drop_members


@fault("OJS-VIS-005")
def leases_never_end() -> None:
    """Leases that have run out are not ended."""
    put(sweep, "_lapse", lambda work, since: 0)


@fault("OJS-VIS-003")
def beats_extend_nothing() -> None:
    """A BEAT says that it extends a lease, and leaves it as it is."""
    put(heartbeat, "renewal", lambda lease, lease_ms, now: None)


@fault("OJS-VIS-035")
def beats_name_no_length() -> None:
    """A BEAT's own visibility timeout is ignored."""
    drop_members("/workers/heartbeat", "visibility_timeout_ms")


@fault("OJS-FET-005")
def fetches_name_no_length() -> None:
    """A FETCH's own visibility timeout is ignored."""
    drop_members("/workers/fetch", "visibility_timeout_ms", "visibility_timeout")


@fault("OJS-LIF-009")
def lost_leases_cost_a_delay() -> None:
    """A job whose lease was lost waits as after a failure."""
    after(deadlines, "loss", lambda loss, *_: msgspec.structs.replace(loss, backoff=True))


@fault("OJS-RET-036")
def lost_leases_cost_the_place() -> None:
    """A job whose lease was lost goes to the end of its queue."""
    after(
        sweep,
        "_lapsed",
        lambda change, work, *_: msgspec.structs.replace(
            change, after=msgspec.structs.replace(change.after, seq=work.tx.position())
        ),
    )


@fault("OJS-RET-028")
def lost_leases_cost_another_attempt() -> None:
    """A lost lease adds one to the attempts."""
    after(
        sweep,
        "_lapsed",
        lambda change, *_: msgspec.structs.replace(
            change, after=msgspec.structs.replace(change.after, attempt=change.after.attempt + 1)
        ),
    )


@fault("OJS-RET-018")
def lost_leases_are_always_forgiven() -> None:
    """A job that lost its lease on its last attempt is handed out once more."""
    wrap(
        sweep,
        "_lapsed",
        lambda lapsed: (
            lambda work, job, lease: msgspec.structs.replace(
                lapsed(work, msgspec.structs.replace(job, max_attempts=1_000), lease), before=job
            )
        ),
    )


@fault("OJS-VIS-015")
def runs_have_no_limit() -> None:
    """The execution timeout is never enforced."""
    after(deadlines, "delivery", lambda found, *_: (found[0], None, found[2]))


@fault("OJS-VIS-014")
def grace_is_not_given() -> None:
    """A job's grace period is not added to its timeout."""
    put(deadlines.TimeLimits, "run_ms", property(lambda limits: limits.timeout_ms))


@fault("OJS-VIS-028")
def silent_holders_keep_their_jobs() -> None:
    """The heartbeat timeout of a job is ignored."""
    after(
        deadlines,
        "delivery",
        lambda found, _, lease_ms, *more: (lease_ms, found[1], None),
    )


@fault("OJS-VIS-030")
def time_away_counts_as_silence() -> None:
    """After a start leases are judged as if the server had been there all along."""
    wrap(
        sweep,
        "_lapse",
        lambda lapse: lambda work, op: lapse(work, msgspec.structs.replace(op, reachable_since=0)),
    )
