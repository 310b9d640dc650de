"""Tenants: their limits, and the prefixes that keep their names apart.

Counters, rate keys, cron entries, workers and rooms of a tenant have its name and a slash before
their own, so that they are counted and locked like all others.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import InvalidRequest, invalid
from ojs_server.domain.limits.rate_limit import Window, parse_count, parse_key, parse_window
from ojs_server.domain.suggestions import refuse_unknown
from ojs_wire.values import kind_of

# Tenant of jobs that name none, once other jobs do. Clients cannot use this name.
DEFAULT: Final = "_default"
# Separates a tenant from its own names; not allowed in names of tenants and queues, and in keys.
BETWEEN: Final = "/"
MEMBER: Final = "tenant_id"
# Prefix of the row that is locked to check a tenant's limits; it sorts after those of queues.
OF_TENANT: Final = "#tenant:"
MAX_WEIGHT: Final = 1000
MAX_BOOST: Final = 100


class Tenant(msgspec.Struct, frozen=True, omit_defaults=True):
    """The limits of a tenant and its weight beside others; empty members do not limit."""

    max_concurrency: int | None = None
    max_enqueue_rate: Window | None = None
    max_queue_depth: int | None = None
    max_scheduled: int | None = None
    fairness_weight: int = 1
    priority_boost: int = 0

    @property
    def limited(self) -> bool:
        """True if its row must be locked before its jobs are enqueued or started."""
        return self != Tenant(
            fairness_weight=self.fairness_weight, priority_boost=self.priority_boost
        )

    def as_wire(self) -> dict[str, Any]:
        """Return every limit; null if there is none."""
        rate = self.max_enqueue_rate
        return {
            "max_concurrency": self.max_concurrency,
            "max_enqueue_rate": None if rate is None else rate.as_wire(),
            "max_queue_depth": self.max_queue_depth,
            "max_scheduled": self.max_scheduled,
            "fairness_weight": self.fairness_weight,
            "priority_boost": self.priority_boost,
        }


LIMITS: Final = Tenant.__struct_fields__


def parse_limits(given: object, field: str = "") -> Tenant:
    """Check a tenant's limits; `field` is where they stand, empty for the whole body.

    Unknown members are always refused: ignoring one could leave a tenant without a limit.
    """
    if not isinstance(given, dict):
        raise invalid(field or "limits", f"must be an object, not {kind_of(given)}")
    at = f"{field}." if field else ""
    refuse_unknown(at, given, LIMITS)
    made: dict[str, Any] = {
        name: parse_count(f"{at}{name}", given[name], 0)
        for name in ("max_concurrency", "max_queue_depth", "max_scheduled")
        if given.get(name) is not None
    }
    if (rate := parse_window(f"{at}max_enqueue_rate", given.get("max_enqueue_rate"))) is not None:
        made["max_enqueue_rate"] = rate
    for name, least, most in (("fairness_weight", 1, MAX_WEIGHT), ("priority_boost", 0, MAX_BOOST)):
        if given.get(name) is not None:
            made[name] = parse_count(f"{at}{name}", given[name], least, most)
    return Tenant(**made)


def scoped(tenant: str | None, name: str) -> str:
    """Return a name with the prefix of its tenant."""
    return name if tenant is None else f"{tenant}{BETWEEN}{name}"


def unscoped(tenant: str | None, name: str) -> str:
    """Return a name without the prefix of its tenant."""
    return name if tenant is None else name.removeprefix(f"{tenant}{BETWEEN}")


def split_name(name: str) -> tuple[str | None, str]:
    """Split a name into its tenant and the tenant's own name; only for names without a slash."""
    tenant, _, own = name.rpartition(BETWEEN)
    return tenant or None, own


def parse_tenant(field: str, value: object) -> str:
    """Check the name of a tenant."""
    return parse_key(field, value)


def tenant_in(meta: Mapping[str, Any]) -> str | None:
    """Return the tenant that a job's `meta` names."""
    value = meta.get(MEMBER)
    return None if value is None else parse_tenant(f"meta.{MEMBER}", value)


def with_tenant(meta: Mapping[str, Any], tenant: str | None) -> Mapping[str, Any]:
    """Return the `meta` of a tenant's job; it may not name another tenant."""
    if tenant is None or meta.get(MEMBER) == tenant:
        return meta
    if meta.get(MEMBER) is not None:
        raise InvalidRequest(
            f"`meta.{MEMBER}` names another tenant than the request itself",
            details={"field": f"meta.{MEMBER}", "tenant_id": tenant},
        )
    return {**meta, MEMBER: tenant}
