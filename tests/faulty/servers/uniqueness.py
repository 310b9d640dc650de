"""Faults of unique jobs."""

import hashlib
import json

import msgspec

from ojs_server.domain.jobs import unique as policies
from ojs_server.domain.jobs import validate
from ojs_server.domain.jobs.unique import UNFINISHED, Unique
from ojs_server.ops.jobs import unique
from ojs_server.store.tables import job_lists
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import change_answer, change_request


@fault("OJS-UNI-005")
def jobs_without_a_policy_are_compared() -> None:
    """A job without a policy takes the place of an equal one that waits."""
    default = {"keys": ["type", "queue", "args", "meta"], "on_conflict": "ignore"}
    change_request("/jobs", lambda body, _: body.setdefault("unique", default))


@fault("OJS-UNI-033")
def strength_is_not_declared() -> None:
    """The manifest does not say how strong uniqueness is."""
    change_answer("/ojs/manifest", lambda body: body.pop("unique_job_strength"), status=200)


@fault("OJS-UNI-012")
def equal_jobs_are_stored() -> None:
    """Unique jobs never conflict."""
    put(Unique, "conflict", lambda self, jobs, now: None)


@fault("OJS-UNI-023")
def ended_jobs_hold_their_keys() -> None:
    """The list of unique keys includes those of jobs that have ended."""
    put(job_lists, "_lead", lambda wanted: "newest")


@fault("OJS-UNI-013")
def ignored_jobs_are_stored() -> None:
    """With `ignore` the second job is stored as well."""
    wrap(
        Unique,
        "conflict",
        lambda conflict: (
            lambda self, jobs, now: (
                None if self.on_conflict == "ignore" else conflict(self, jobs, now)
            )
        ),
    )


@fault("OJS-UNI-014")
def the_replaced_stay() -> None:
    """With `replace` the job that was there is left alone."""
    put(unique._Judging, "_cancel", lambda self, existing, rivals: None)


@fault("OJS-UNI-009")
def states_are_not_chosen() -> None:
    """The `states` of a policy are ignored."""
    after(
        validate,
        "unique_of",
        lambda made, *_: msgspec.structs.replace(made, states=UNFINISHED),
    )


@fault("OJS-UNI-009")
def periods_never_end() -> None:
    """The `period` of a policy is ignored."""
    after(validate, "unique_of", lambda made, *_: msgspec.structs.replace(made, period_ms=None))


@fault("OJS-UNI-008")
def spelling_matters() -> None:
    """Equal values in another spelling make another fingerprint."""
    put(
        policies,
        "fingerprint",
        lambda chosen: hashlib.sha256(json.dumps(chosen).encode()).digest(),
    )


@fault("OJS-UNI-016")
def replacing_forgets_the_schedule() -> None:
    """`replace_except_schedule` does not keep the time."""
    put(unique._Judging, "_rescheduled", lambda self, draft, stored, existing: stored)
