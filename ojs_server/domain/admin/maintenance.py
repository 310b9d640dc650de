"""Maintenance mode: no job is delivered or becomes due; jobs can still be enqueued."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import invalid
from ojs_wire.values import kind_of, parse_duration

MAX_REASON: Final = 1000


class Maintenance(msgspec.Struct, frozen=True):
    """Maintenance that is on: its start, the reason, and its expected end."""

    since: int
    reason: str | None = None
    until: int | None = None


class MaintenanceOrder(msgspec.Struct, frozen=True):
    """An operator's request: on or off, the reason, and the expected duration."""

    enabled: bool
    reason: str | None = None
    for_ms: int | None = None

    def applied(self, before: Maintenance | None, now: int) -> Maintenance | None:
        """Return the resulting maintenance; if it is on already, it keeps its start."""
        if not self.enabled:
            return None
        since = now if before is None else before.since
        return Maintenance(since, self.reason, None if self.for_ms is None else now + self.for_ms)


def parse_order(given: Mapping[str, Any]) -> MaintenanceOrder:
    """Check a request."""
    enabled = given.get("enabled")
    if not isinstance(enabled, bool):
        raise invalid("enabled", f"must be true or false, not {kind_of(enabled)}")
    reason = given.get("reason")
    if reason is not None and (not isinstance(reason, str) or len(reason) > MAX_REASON):
        raise invalid("reason", f"must be a text of at most {MAX_REASON} characters")
    if reason is not None and "\0" in reason:
        raise invalid("reason", "must not hold a NUL character")
    synonym = _duration(given, "duration")
    for_ms = _duration(given, "estimated_duration")
    return MaintenanceOrder(enabled, reason, synonym if for_ms is None else for_ms)


def _duration(given: Mapping[str, Any], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    try:
        return parse_duration(value, 1000)
    except ValueError as error:
        raise invalid(name, str(error)) from None
