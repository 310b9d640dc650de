"""Parse the body of a cron registration or change, in all its dialects, into a checked entry.

{name, expression, job_template: {type, args, options}}   the canonical form
{name, cron | schedule, type, args, options, queue, …}    the job's members beside the entry's
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain.cron.entry import (
    CronEntry,
    CronTemplate,
    Overlap,
    counted,
    definition_of,
    draft_of,
    encoded,
)
from ojs_server.domain.cron.expression import parse_cron
from ojs_server.domain.cron.time_zones import parse_zone
from ojs_server.domain.errors import OjsError, TooLarge, invalid
from ojs_server.domain.fields import object_of
from ojs_server.domain.jobs.options import OPTIONS
from ojs_server.domain.suggestions import nearest
from ojs_server.domain.tenants.tenant import scoped
from ojs_wire.values import MAX_NAME, MAX_TIME, kind_of

NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,254}", re.ASCII)
MAX_DESCRIPTION: Final = 1024
# Bounded because lists show every entry in full.
MAX_DEFINITION: Final = 64 * 1024
_EXPRESSION: Final = ("expression", "cron", "schedule")
_OVERLAPS: Final[Mapping[str, Overlap]] = {
    **{policy.value: policy for policy in Overlap},
    "cancel": Overlap.CANCEL_PREVIOUS,
    "replace": Overlap.CANCEL_PREVIOUS,
    "queue": Overlap.ENQUEUE,
}
_STATUSES: Final[Mapping[str, bool]] = {"active": True, "paused": False, "disabled": False}
_JOB_MEMBERS: Final = OPTIONS | {"type", "args", "meta", "options", "schema"}
# Each run has an id of its own, and the overlap policy decides which runs are held back.
_NOT_IN_A_TEMPLATE: Final = ("id", "pending")


class CronChanges(msgspec.Struct, frozen=True):
    """The changes that a request makes to an entry; None for each member that it does not name.

    `template` replaces the whole job, `parts` are members of it.
    """

    name: str | None = None
    expression: str | None = None
    timezone: str | None = None
    overlap: Overlap | None = None
    enabled: bool | None = None
    description: str | None = None
    template: Mapping[str, Any] | None = None
    parts: Mapping[str, Any] = {}


def parse_changes(body: Mapping[str, Any], *, tenant: str | None = None) -> CronChanges:
    """Check the body of a registration or a change, without knowledge of the stored entry.

    Names of entries are separate for each tenant.
    """
    template = object_of("job_template", body.get("job_template"))
    name = body.get("name")
    return CronChanges(
        name=None if name is None else scoped(tenant, parse_name(name)),
        expression=_expression(body),
        timezone=_zone(body.get("timezone")),
        overlap=_overlap(body.get("overlap_policy")),
        enabled=_enabled(body),
        description=_description(body.get("description")),
        template=template,
        # Not by iterating over the set: its order differs between processes.
        parts={
            key: value for key, value in body.items() if value is not None and key in _JOB_MEMBERS
        },
    )


def parse_name(value: object) -> str:
    """Check the name of an entry."""
    if not isinstance(value, str):
        raise invalid("name", f"must be a string such as daily-report, not {kind_of(value)}")
    if not NAME.fullmatch(value):
        raise invalid(
            "name",
            "must start with a lower-case letter or digit, followed by lower-case letters, "
            f"digits, `-` and `.`, {MAX_NAME} characters at most",
        )
    return value


def registered(
    changes: CronChanges, known: CronEntry | None, now: int, *, strict: bool, any_type: bool = False
) -> CronEntry:
    """Return the entry after a registration, which may replace one of the same name.

    Kept of an existing entry: its history, its next run unless the schedule changes, and whether it
    is enabled unless the request sets that.
    """
    if changes.name is None:
        raise invalid("name", "is missing")
    if changes.expression is None:
        raise invalid("expression", "is missing; like `*/5 * * * *`, @daily or `@every 30m`")
    entry = CronEntry(
        name=changes.name,
        expression=changes.expression,
        timezone=changes.timezone or "UTC",
        overlap=changes.overlap or Overlap.SKIP,
        enabled=True if changes.enabled is None else changes.enabled,
        definition=encoded(CronTemplate(_template(changes, {}), changes.description)),
        created_at=now,
        updated_at=now,
        counted_from=now,
    )
    if known is not None:
        entry = msgspec.structs.replace(
            entry,
            enabled=known.enabled if changes.enabled is None else changes.enabled,
            created_at=known.created_at,
            last_run_at=known.last_run_at,
            last_job_id=known.last_job_id,
            run_count=known.run_count,
            held=known.held,
        )
    return _checked(entry, known, now, strict=strict, any_type=any_type)


def changed(
    changes: CronChanges, known: CronEntry, now: int, *, strict: bool, any_type: bool = False
) -> CronEntry:
    """Return the entry after a change of some of its members."""
    if changes.name not in (None, known.name):
        raise invalid(
            "name", f"must be {known.scoped_name[1]}, as in the path; an entry keeps its name"
        )
    before = definition_of(known)
    definition = CronTemplate(
        _template(changes, before.job_template),
        before.description if changes.description is None else changes.description,
    )
    entry = msgspec.structs.replace(
        known,
        expression=changes.expression or known.expression,
        timezone=changes.timezone or known.timezone,
        overlap=changes.overlap or known.overlap,
        enabled=known.enabled if changes.enabled is None else changes.enabled,
        definition=encoded(definition),
        updated_at=now,
    )
    return _checked(entry, known, now, strict=strict, any_type=any_type)


def _checked(
    entry: CronEntry, known: CronEntry | None, now: int, *, strict: bool, any_type: bool = False
) -> CronEntry:
    # Built with the longest times that can stand in its meta.
    draft_of(entry, MAX_TIME, MAX_TIME, lease_ms=0, strict=strict, any_type=any_type)
    size = len(entry.definition)
    if size > MAX_DEFINITION:
        raise TooLarge(
            f"`job_template` has {size} bytes; at most {MAX_DEFINITION} are allowed",
            details={"field": "job_template", "size": size, "limit": MAX_DEFINITION},
        )
    same_beat = known is not None and (known.expression, known.timezone, known.enabled) == (
        entry.expression,
        entry.timezone,
        entry.enabled,
    )
    if known is not None and same_beat:
        return msgspec.structs.replace(
            entry, counted_from=known.counted_from, next_run_at=known.next_run_at
        )
    return counted(entry, now)


def _template(changes: CronChanges, base: Mapping[str, Any]) -> dict[str, Any]:
    if changes.template is not None:
        return _whole(changes.template)
    options = base.get("options")
    if isinstance(options, dict):
        # Members in the stored `options` must not override new members at the top level.
        options = {name: value for name, value in options.items() if name not in changes.parts}
        base = {**base, "options": options}
    return _whole({**base, **changes.parts})


def _whole(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template with `args` and `meta`, whichever place of the body they were in."""
    options = object_of("options", given.get("options"))
    sources = (given, options or {})
    for name in _NOT_IN_A_TEMPLATE:
        if any(source.get(name) is not None for source in sources):
            raise invalid(name, "cannot be set for the jobs of a cron entry")
    meta: dict[str, Any] = {}
    for source in sources:
        for name in ("meta", "metadata"):
            meta.update(object_of(name, source.get(name)) or {})
    template = {name: value for name, value in given.items() if name not in ("meta", "metadata")}
    if options is not None:
        template["options"] = {
            name: value for name, value in options.items() if name not in ("meta", "metadata")
        }
    if template.get("args") is None:
        template["args"] = []
    return {**template, "meta": meta} if meta else template


def _expression(body: Mapping[str, Any]) -> str | None:
    for name in _EXPRESSION:
        given = body.get(name)
        if given is None:
            continue
        try:
            parse_cron(given)
        except OjsError as error:
            if name == "expression":
                raise
            message = error.message.removeprefix("`expression` ")
            details = {**(error.details or {}), "field": name}
            raise type(error)(f"`{name}` {message}", details=details) from None
        return str(given)
    return None


def _zone(given: object) -> str | None:
    return None if given is None else parse_zone(given).key


def _overlap(given: object) -> Overlap | None:
    if given is None:
        return None
    if not isinstance(given, str) or given not in _OVERLAPS:
        raise invalid(
            "overlap_policy",
            f"must be one of {', '.join(Overlap)}{nearest(given, _OVERLAPS)}",
            allowed=list(Overlap),
        )
    return _OVERLAPS[given]


def _enabled(body: Mapping[str, Any]) -> bool | None:
    given = body.get("enabled")
    if given is not None:
        if not isinstance(given, bool):
            raise invalid("enabled", f"must be true or false, not {kind_of(given)}")
        return given
    status = body.get("status")
    if status is None:
        return None
    if not isinstance(status, str) or status not in _STATUSES:
        raise invalid(
            "status", f"must be one of {', '.join(_STATUSES)}{nearest(status, _STATUSES)}"
        )
    return _STATUSES[status]


def _description(given: object) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or len(given) > MAX_DESCRIPTION:
        raise invalid("description", f"must be a string of at most {MAX_DESCRIPTION} characters")
    return given
