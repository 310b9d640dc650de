"""The options of a job: their names, their places in a request, and their precedence."""

from collections.abc import Mapping
from typing import Any, Final

from ojs_server.domain.jobs import deadlines
from ojs_server.domain.jobs.retry import MEMBERS as RETRY_MEMBERS
from ojs_server.domain.jobs.unique import MEMBERS as UNIQUE_MEMBERS
from ojs_server.domain.limits.rate_limit import MEMBERS as RATE_LIMIT_MEMBERS
from ojs_server.domain.suggestions import refuse_unknown

# Options may also stand at the top level of the job; those inside `options` win.
OPTIONS: Final = deadlines.OPTIONS | frozenset(
    {
        "queue",
        "priority",
        "scheduled_at",
        "delay_until",
        "expires_at",
        "retry",
        "retry_policy",
        "max_attempts",
        "unique",
        "tags",
        "pending",
        "rate_limit",
        "metadata",
    }
)
OTHER_NAME: Final[Mapping[str, str]] = {
    "retry": "retry_policy",
    "retry_policy": "retry",
    "scheduled_at": "delay_until",
    "delay_until": "scheduled_at",
    **deadlines.OTHER_NAME,
}
_ENVELOPE: Final = frozenset({"type", "args", "id", "meta", "schema", "options", "specversion"})
# Managed by the server and ignored in requests, so that a client can send a job back unchanged.
_MANAGED: Final = frozenset(
    {
        "state",
        "version_routed",
        "attempt",
        "created_at",
        "enqueued_at",
        "started_at",
        "completed_at",
        "cancelled_at",
        "discarded_at",
        "next_attempt_at",
        "next_retry_at",
        "retry_delay_ms",
        "error",
        "errors",
        "result",
        "worker_id",
        "lease_expires_at",
        "releases",
        "deduplicated",
        "parent_results",
        "workflow_id",
        "progress",
        "progress_message",
        "checkpoint",
        "last_checkpoint",
    }
)
KNOWN: Final = OPTIONS | _ENVELOPE | _MANAGED


def merge(body: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the options that a body gives at either place; those in `options` win."""
    given = {name: value for name, value in body.items() if value is not None and name in OPTIONS}
    for name, value in options.items():
        if value is not None:
            # An option replaces a top-level member also under its other name.
            given.pop(OTHER_NAME.get(name, name), None)
    given.update({name: value for name, value in options.items() if value is not None})
    attempts = given.pop("max_attempts", None)
    return given if attempts is None else _with_attempts(given, attempts, options)


def _with_attempts(
    given: dict[str, Any], attempts: object, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Read `max_attempts` as that of the retry policy, which wins where both stand in one place."""
    name = "retry_policy" if given.get("retry") is None and "retry_policy" in given else "retry"
    policy = given.get(name) or {}
    if not isinstance(policy, Mapping):
        return given
    outranks = options.get("max_attempts") is not None and options.get(name) is None
    if policy.get("max_attempts") is None or outranks:
        given[name] = {**policy, "max_attempts": attempts}
    return given


def refuse_unknown_members(options: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise for members that are no option, as `--strict` asks."""
    for where, value, known in (
        ("options", options, OPTIONS),
        ("retry", given.get("retry"), RETRY_MEMBERS),
        ("retry", given.get("retry_policy"), RETRY_MEMBERS),
        ("unique", given.get("unique"), UNIQUE_MEMBERS),
        ("rate_limit", given.get("rate_limit"), RATE_LIMIT_MEMBERS),
    ):
        if isinstance(value, Mapping):
            refuse_unknown(f"{where}.", value, known)
