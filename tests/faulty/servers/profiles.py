"""Faults of profiles and of presence, seen where the times are short."""

from typing import Any

import msgspec

from ojs_server import settings
from ojs_server.domain import events, profile
from ojs_server.domain.jobs import deadlines
from ojs_server.domain.profile import PROFILES
from ojs_server.domain.workers.worker import Thresholds
from ojs_server.ops.workers import eligibility
from tests.faulty.fault import fault
from tests.faulty.planting import put, wrap
from tests.faulty.traffic import V1, change_answer


def _profiles(**changes: Any) -> None:
    """Have every profile but the usual one differ in these defaults."""
    changed = {
        name: one if name == "ojs" else msgspec.structs.replace(one, **changes)
        for name, one in PROFILES.items()
    }
    put(settings, "PROFILES", changed)


@fault("OJS-PRS-001")
def profiles_win_over_settings() -> None:
    """A profile overrides the settings that the operator states."""
    put(settings, "adjusted", lambda chosen, given: chosen)


@fault("OJS-PRS-002")
def offline_is_not_what_follows() -> None:
    """A worker is offline after twice the time to unreachable."""
    put(profile, "OFFLINE_RATIO", 2)


@fault("OJS-PRS-002")
def times_may_fall() -> None:
    """Times that do not rise are taken as they are."""
    put(settings, "out_of_order", lambda chosen: None)


@fault("OJS-PRS-003")
def presence_changes_from_nothing() -> None:
    """A change of presence does not say what was before."""

    def make(worker: Any) -> Any:
        return lambda kind, name, **said: worker(kind, name, **{**said, "previous": None})

    wrap(events, "worker", make)


@fault("OJS-PRS-004")
def registering_is_being_online() -> None:
    """A worker that has registered is online."""
    _profiles(thresholds=Thresholds())


@fault("OJS-PRS-004")
def the_unreachable_are_not_told() -> None:
    """A worker that is not online gets an empty answer without a word."""
    change_answer(f"{V1}/workers/fetch", lambda body: body.pop("presence", None), status=200)


@fault("OJS-PRS-004")
def fetching_is_coming_back() -> None:
    """A worker that was declared dead is there again by its FETCH where BEATs alone count."""
    put(eligibility, "refusal", lambda worker, profile: None)


@fault("OJS-PRS-005")
def jobs_of_who_leaves_go_back() -> None:
    """The jobs of a worker that leaves go back to their queues under every profile."""
    _profiles(on_leave="requeue")


@fault("OJS-PRS-006")
def stuck_jobs_are_only_late() -> None:
    """A job that was with its worker for too long fails as by a timeout of its own."""
    put(deadlines, "_stuck", lambda stuck_ms: deadlines._VISIBILITY)


@fault("OJS-PRS-009")
def the_deleted_return() -> None:
    """A deleted worker that beats is there again."""
    _profiles(final_deletion=False)
