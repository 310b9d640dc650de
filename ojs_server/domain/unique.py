"""The unique policy: which jobs count as the same, and what a conflict does."""

from typing import Any, Final

from ojs_server.domain.errors import InvalidRequest, invalid
from ojs_server.domain.job import State
from ojs_server.domain.naming import nearest
from ojs_wire.values import format_duration, kind_of, parse_duration

DIMENSIONS: Final = ("type", "queue", "args", "meta")
CONFLICTS: Final = ("reject", "replace", "replace_except_schedule", "ignore")
MEMBERS: Final = frozenset(
    {"keys", "key", "args_keys", "meta_keys", "period", "period_ms", "states", "on_conflict"}
)


def parse_unique(given: object) -> dict[str, Any] | None:
    """Check a policy and answer its canonical form; `key` and `use_existing` are synonyms."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise invalid("unique", f"must be an object, not {kind_of(given)}")
    keys, key = _dimensions("keys", given), _dimensions("key", given)
    policy: dict[str, Any] = {
        "keys": (key if keys is None else keys) or ["type"],
        "on_conflict": _on_conflict(given.get("on_conflict")),
    }
    for member in ("args_keys", "meta_keys"):
        if names := _names(member, given.get(member), None):
            policy[member] = names
    if "meta" in policy["keys"] and "meta_keys" not in policy:
        raise invalid("unique.meta_keys", 'must name at least one key when `keys` holds "meta"')
    if states := _names("states", given.get("states"), tuple(State)):
        policy["states"] = states
    if (period := _period(given)) is not None:
        policy["period"] = format_duration(period)
    return policy


def _dimensions(member: str, given: dict[str, Any]) -> list[str] | None:
    value = given.get(member)
    return _names(member, [value] if isinstance(value, str) else value, DIMENSIONS)


def _names(member: str, value: object, known: tuple[str, ...] | None) -> list[str] | None:
    if value is None:
        return None
    field = f"unique.{member}"
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise invalid(field, "must be an array of non-empty strings")
    if len(value) > 50:
        raise invalid(field, "must hold at most 50 names")
    for item in value:
        if known is not None and item not in known:
            raise invalid(
                field, f"holds {item[:100]!r}; allowed: {', '.join(known)}{nearest(item, known)}"
            )
    return list(dict.fromkeys(value))


def _on_conflict(value: object) -> str:
    if value is None:
        return "reject"
    if value == "use_existing":
        return "ignore"
    if not isinstance(value, str) or value not in CONFLICTS:
        raise invalid(
            "unique.on_conflict",
            f"must be one of {', '.join(CONFLICTS)}{nearest(value, CONFLICTS)}",
        )
    return value


def _period(given: dict[str, Any]) -> int | None:
    found: list[int] = []
    for member, unit in (("period", None), ("period_ms", 1)):
        value = given.get(member)
        if value is None:
            continue
        try:
            period = parse_duration(value, unit)
        except ValueError as error:
            raise invalid(f"unique.{member}", str(error)) from None
        if period <= 0:
            raise _zero(member)
        found.append(period)
    return found[0] if found else None


def _zero(member: str) -> InvalidRequest:
    return invalid(f"unique.{member}", "must be longer than zero")
