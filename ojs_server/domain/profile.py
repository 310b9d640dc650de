"""Profiles: sets of defaults that make the server behave like other job systems.

A profile is a record and nothing else. The rules read its fields; no code depends on its name.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final, Literal

import msgspec

from ojs_server.domain.workers.worker import Thresholds

# Treatment of a job whose worker died: `requeue` it, or `fail` the attempt.
Recovery = Literal["requeue", "fail"]
# Treatment of a job whose lease expired; `refund` is `requeue` without counting the attempt.
Expiry = Literal["requeue", "refund", "fail"]
# The leases of a worker that a sign of life renews.
Renewal = Literal["listed", "all", "none"]
LateAck = Literal["reject", "accept_unfinished"]

MINUTE: Final = 60_000
SIGN_EVERY_MS: Final = 5_000
RECOVERIES: Final[Mapping[str, Recovery]] = {"requeue": "requeue", "fail": "fail"}
LATE_ACKS: Final = ("reject", "accept_unfinished")


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults for the treatment of workers and jobs; times in milliseconds.

    dead_after_ms       silence after which a worker counts as dead; None: never
    missed_beats        how many beats at least must be missing before that
    stuck_ms            how long a delivery may take whatever its worker says; None: for ever
    max_attempts        of jobs without a retry policy; None: as the default policy says
    sweep_interval_ms   the least time between two looks for expired leases; 0: none
    check_interval_ms   how often presence is checked and announced
    session_grace_ms    how long a worker may lack the session that it held; None: for ever
    gates_fetch         a worker that is not online is handed nothing
    ping_revives        a ping brings a worker back that had gone
    final_deletion      only a new registration follows on a deletion; no BEAT or FETCH does
    deletes_dead        a worker that dies or leaves is deleted at once
    any_type            the type of a job may be any printable text
    at_root             the parts of the API that are served without its prefix, too
    grpc_port           where its clients look for gRPC; None: they know none
    system              the package of `systems` for its clients; None: they are those of OJS
    """

    heartbeat_interval_ms: int = 5_000
    dead_after_ms: int | None = 30_000
    missed_beats: int = 3
    on_death: Recovery = "requeue"
    on_leave: Recovery = "requeue"
    on_delete: Recovery = "requeue"
    lease_ms: int = 30 * MINUTE
    renewal: Renewal = "listed"
    on_expiry: Expiry = "requeue"
    stuck_ms: int | None = None
    max_attempts: int | None = None
    late_ack: LateAck = "reject"
    sweep_interval_ms: int = 0
    check_interval_ms: int = MINUTE
    max_wait_ms: int = 30_000
    session_grace_ms: int | None = None
    thresholds: Thresholds = Thresholds()
    gates_fetch: bool = False
    ping_revives: bool = False
    final_deletion: bool = False
    deletes_dead: bool = False
    any_type: bool = False
    at_root: tuple[str, ...] = ()
    grpc_port: int | None = None
    system: str | None = None

    @property
    def dies_offline(self) -> bool:
        """True if a worker counts as dead as soon as it is offline."""
        return self.dead_after_ms == self.thresholds.offline_ms

    @property
    def sign_every_ms(self) -> int:
        """Return the age from which a stored sign of life is replaced by a new one."""
        shortest = min(self.thresholds.unreachable_ms, self.dead_after_ms or MINUTE)
        return min(SIGN_EVERY_MS, shortest // 4)


OJS: Final = Profile()
PROFILES: Final[Mapping[str, Profile]] = {
    "ojs": OJS,
    "blackboard": Profile(
        heartbeat_interval_ms=20_000,
        dead_after_ms=6 * MINUTE,
        on_death="fail",
        on_leave="fail",
        on_delete="fail",
        lease_ms=12 * MINUTE,
        renewal="none",
        on_expiry="fail",
        stuck_ms=12 * MINUTE,
        max_attempts=1,
        thresholds=Thresholds(online_at_once=False),
        gates_fetch=True,
        ping_revives=True,
        final_deletion=True,
        at_root=("workers", "blackboard"),
        system="blackboard",
    ),
    "jobmanager": Profile(
        heartbeat_interval_ms=30_000,
        dead_after_ms=MINUTE,
        missed_beats=2,
        on_death="fail",
        on_leave="fail",
        on_delete="fail",
        renewal="all",
        on_expiry="fail",
        max_attempts=1,
        thresholds=Thresholds(unreachable_ms=45_000, offline_ms=MINUTE),
        final_deletion=True,
        deletes_dead=True,
        max_wait_ms=60_000,
        system="jobmanager",
    ),
    "zeebe": Profile(
        dead_after_ms=None,
        lease_ms=MINUTE,
        on_expiry="refund",
        late_ack="accept_unfinished",
        max_wait_ms=600_000,
        any_type=True,
        grpc_port=26_500,
        system="zeebe",
    ),
}


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """Values of settings that replace those of the profile; None for each that is not set."""

    heartbeat_interval_ms: int | None = None
    dead_after_ms: int | None = None
    lease_ms: int | None = None
    unreachable_ms: int | None = None
    offline_ms: int | None = None
    deleted_ms: int | None = None
    stuck_ms: int | None = None
    check_interval_ms: int | None = None
    sweep_interval_ms: int | None = None
    late_ack: LateAck | None = None
    max_wait_ms: int | None = None
    session_grace_ms: int | None = None


# Ratios for thresholds that are not set: offline after 3 times unreachable, stuck after 2 times
# offline. Six heartbeats fit into the time until unreachable.
BEATS_RATIO: Final = 6
OFFLINE_RATIO: Final = 3
STUCK_RATIO: Final = 2


_PLAIN: Final = (
    "check_interval_ms",
    "sweep_interval_ms",
    "late_ack",
    "max_wait_ms",
    "session_grace_ms",
)


def adjusted(profile: Profile, given: Given) -> Profile:
    """Return the profile with explicit settings applied; the other values follow from them."""
    usual = profile.thresholds
    unreachable_ms = given.unreachable_ms or usual.unreachable_ms
    offline_ms = given.offline_ms or (
        usual.offline_ms if given.unreachable_ms is None else OFFLINE_RATIO * unreachable_ms
    )
    stuck_ms = given.stuck_ms or profile.stuck_ms
    if given.stuck_ms is None and stuck_ms is not None and offline_ms != usual.offline_ms:
        stuck_ms = STUCK_RATIO * offline_ms
    dead_after_ms = given.dead_after_ms or profile.dead_after_ms
    if given.dead_after_ms is None and profile.dies_offline:
        dead_after_ms = offline_ms
    interval_ms = given.heartbeat_interval_ms or profile.heartbeat_interval_ms
    if given.heartbeat_interval_ms is None and given.unreachable_ms is not None:
        interval_ms = min(interval_ms, given.unreachable_ms // BEATS_RATIO)
    # A lease that nothing renews bounds the delivery, so it lasts as long as one may take.
    absolute = profile.renewal == "none" and stuck_ms is not None
    lease_ms = given.lease_ms or ((absolute and stuck_ms) or profile.lease_ms)
    plain = {name: value for name in _PLAIN if (value := getattr(given, name)) is not None}
    return msgspec.structs.replace(
        profile,
        heartbeat_interval_ms=interval_ms,
        dead_after_ms=dead_after_ms,
        lease_ms=lease_ms,
        stuck_ms=stuck_ms,
        thresholds=msgspec.structs.replace(
            usual,
            unreachable_ms=unreachable_ms,
            offline_ms=offline_ms,
            deleted_ms=given.deleted_ms or usual.deleted_ms,
        ),
        **plain,
    )


def out_of_order(profile: Profile) -> tuple[tuple[str, int], tuple[str, int]] | None:
    """Return the first two thresholds of presence that are out of order, with their times."""
    limits = profile.thresholds
    steps = [
        ("worker_unreachable_threshold", limits.unreachable_ms),
        ("worker_offline_threshold", limits.offline_ms),
        *([] if profile.stuck_ms is None else [("stuck_job_timeout", profile.stuck_ms)]),
        ("worker_delete_threshold", limits.deleted_ms),
    ]
    for before, after in pairwise(steps):
        if before[1] >= after[1]:
            return before, after
    return None
