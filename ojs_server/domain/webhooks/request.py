"""Parse requests about webhooks into checked subscriptions."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import TooLarge, invalid
from ojs_server.domain.fields import is_job_type, object_of, parse_queue
from ojs_server.domain.suggestions import nearest, refuse_unknown
from ojs_server.domain.webhooks.target import Reach, parse_url
from ojs_server.domain.webhooks.webhook import (
    OWN_EVENTS,
    Format,
    Pauses,
    Selection,
    Webhook,
    encoded,
    selection_of,
)
from ojs_wire.values import MAX_NAME, kind_of

MAX_PATTERNS: Final = 100
MAX_SELECTION: Final = 16 * 1024
LEAST_SECRET: Final = 8
MAX_SECRET: Final = 256
FORMATS: Final = tuple(Format)
FILTERS: Final = ("queues", "job_types")
_PATTERN: Final = re.compile(r"\*|[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*(?:\.\*)?")


class WebhookChanges(msgspec.Struct, frozen=True):
    """The changes that a request makes to a subscription; None for members not named."""

    url: str | None = None
    events: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None
    job_types: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] | None = None
    active: bool | None = None
    format: Format | None = None
    secret: str | None = None


def parse_changes(
    body: Mapping[str, Any], reach: Reach, *, any_type: bool = False
) -> WebhookChanges:
    """Check the body of a request, without knowledge of the stored subscription."""
    url = body.get("url")
    if url is not None:
        parse_url(url, reach)
    queues, job_types = _filter(body.get("filter"), any_type) if "filter" in body else (None, None)
    metadata = object_of("metadata", body.get("metadata"))
    active = body.get("active")
    if active is not None and not isinstance(active, bool):
        raise invalid("active", f"must be true or false, not {kind_of(active)}")
    form = body.get("format")
    if form is not None and form not in FORMATS:
        raise invalid("format", f"must be one of {', '.join(FORMATS)}{nearest(form, FORMATS)}")
    events = body.get("events")
    return WebhookChanges(
        url=url,
        events=None if events is None else _events(events),
        queues=queues,
        job_types=job_types,
        metadata=metadata,
        active=active,
        format=None if form is None else Format(form),
        secret=parse_secret(body.get("secret")),
    )


def parse_secret(value: object) -> str | None:
    """Check a secret of the client's own. No message repeats it."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise invalid("secret", f"must be a string, not {kind_of(value)}")
    if not LEAST_SECRET <= len(value) <= MAX_SECRET or not (
        value.isascii() and value.isprintable()
    ):
        raise invalid(
            "secret",
            f"must have {LEAST_SECRET} to {MAX_SECRET} printable ASCII characters",
        )
    return value


def subscribed(changes: WebhookChanges, webhook_id: str, secret: str, now: int) -> Webhook:
    """Return the subscription that a request makes; its start in the log is set later."""
    if changes.url is None:
        raise invalid("url", "is missing")
    if changes.events is None:
        raise invalid("events", 'is missing; such as ["job.completed"] or ["*"]')
    return Webhook(
        id=webhook_id,
        url=changes.url,
        selection=_checked(_selected(changes, Selection(()))),
        active=changes.active is not False,
        secret=secret,
        old_secret=None,
        old_until=None,
        cursor=0,
        created_at=now,
        updated_at=now,
    )


def changed(changes: WebhookChanges, known: Webhook, now: int) -> Webhook:
    """Return the subscription after a change of some of its members."""
    if changes.secret is not None:
        raise invalid("secret", "cannot be changed here; use POST …/rotate-secret")
    selection = selection_of(known)
    return msgspec.structs.replace(
        known,
        url=known.url if changes.url is None else changes.url,
        selection=_checked(_selected(changes, selection), selection.pauses),
        active=known.active if changes.active is None else changes.active,
        updated_at=now,
    )


def _selected(changes: WebhookChanges, known: Selection) -> Selection:
    return Selection(
        events=known.events if changes.events is None else changes.events,
        queues=known.queues if changes.queues is None else changes.queues,
        job_types=known.job_types if changes.job_types is None else changes.job_types,
        metadata=known.metadata if changes.metadata is None else changes.metadata,
        format=known.format if changes.format is None else changes.format,
    )


def _checked(selection: Selection, pauses: Pauses = ()) -> bytes:
    """Return the stored form, with pauses that take no room from what users may send."""
    data = encoded(selection)
    if len(data) > MAX_SELECTION:
        raise TooLarge(
            "`metadata` is too large: with `events` and `filter` it may have "
            f"{MAX_SELECTION} bytes",
            details={"field": "metadata", "size": len(data), "limit": MAX_SELECTION},
        )
    return encoded(msgspec.structs.replace(selection, pauses=pauses)) if pauses else data


def _events(value: object) -> tuple[str, ...]:
    patterns = _names("events", value)
    if not patterns:
        raise invalid("events", 'must name at least one event; ["*"] means all')
    for pattern in patterns:
        if not _PATTERN.fullmatch(pattern):
            raise invalid(
                "events",
                f"holds {pattern[:100]!r}; allowed are names like job.completed, "
                "prefixes like job.* and *",
            )
        if pattern.startswith(OWN_EVENTS):
            raise invalid(
                "events",
                f"holds {pattern[:100]!r}; webhooks cannot subscribe to events about webhooks",
            )
    return patterns


def _filter(value: object, any_type: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    given = object_of("filter", value) or {}
    # Refused: if an unknown filter were ignored, more would be sent than the user wants.
    refuse_unknown("filter.", given, FILTERS)
    queues = _names("filter.queues", given.get("queues"))
    job_types = _names("filter.job_types", given.get("job_types"))
    for name in job_types:
        if not is_job_type(name, any_type=any_type):
            raise invalid("filter.job_types", f"holds {name[:100]!r}, which is not a job type")
    return tuple(parse_queue("filter.queues", name) for name in queues), job_types


def _names(field: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    names: Sequence[object] = value if isinstance(value, list) else ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in names):
        raise invalid(field, "must be an array of strings")
    if len(names) > MAX_PATTERNS or any(len(str(name)) > MAX_NAME for name in names):
        raise invalid(
            field, f"must hold at most {MAX_PATTERNS} names of at most {MAX_NAME} characters"
        )
    return tuple(dict.fromkeys(map(str, names)))
