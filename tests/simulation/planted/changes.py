"""Kinds of changes that planted bugs are about."""

from typing import Final

from ojs_server.domain.jobs.job import Change, State

_LOST: Final = (b'"visibility_timeout"', b'"worker_death"')


def is_lapse(change: Change) -> bool:
    """True if the lease of a job was lost."""
    before, after = change.before, change.after
    if before.state != State.ACTIVE or after.error is None or after.error == before.error:
        return False
    return any(code in after.error for code in _LOST)
