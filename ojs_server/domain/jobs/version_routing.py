"""Canary routing: the share of each version among the jobs of a type that name none."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import Unsupported, invalid
from ojs_server.domain.fairness.pool import MAX_WEIGHT
from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.domain.fields import object_of
from ojs_server.domain.jobs.validate import Draft
from ojs_server.domain.limits.rate_limit import parse_count
from ojs_server.domain.suggestions import refuse_unknown
from ojs_server.domain.version import parse_version
from ojs_server.domain.workers.requirements import demand_of
from ojs_wire.codec import decode, encode
from ojs_wire.values import kind_of

MAX_RULES: Final = 20
MAX_ROUTINGS: Final = 1000
# Marks a version that routing has set, as opposed to the job's own.
ROUTED: Final = "version_routed"
_MEMBERS: Final = frozenset({"type", "rules", "auto_rollback"})


class Share(msgspec.Struct, frozen=True):
    """A version as written, and its weight among the versions of the type."""

    version: int | str
    weight: int


class Routing(msgspec.Struct, frozen=True):
    """The shares of one type."""

    rules: tuple[Share, ...]


Routings = Mapping[str, Routing]


def parse_routing(body: Mapping[str, Any]) -> Routing:
    """Check the shares of a type. Unknown members are refused: ignoring them would drop a rule."""
    refuse_unknown("", body, _MEMBERS)
    if body.get("auto_rollback") is not None:
        raise Unsupported(
            "`auto_rollback` is not available: failures are not counted by version",
            details={"field": "auto_rollback"},
            hint="watch the jobs of the new version, and set its weight to 0",
        )
    given = body.get("rules")
    if not isinstance(given, list):
        raise invalid("rules", f"must be an array, not {kind_of(given)}")
    if not 0 < len(given) <= MAX_RULES:
        raise invalid("rules", f"must have 1 to {MAX_RULES} rules, not {len(given)}")
    rules = tuple(_share(f"rules[{place}]", rule) for place, rule in enumerate(given))
    versions = [parse_version("version", rule.version) for rule in rules]
    for place, version in enumerate(versions):
        if version in versions[:place]:
            raise invalid(f"rules[{place}].version", f"names version {version} twice")
    if not any(rule.weight for rule in rules):
        raise invalid("rules", "must have at least one weight above 0")
    return Routing(rules)


def _share(field: str, given: object) -> Share:
    rule = object_of(field, given) or {}
    refuse_unknown(f"{field}.", rule, {"version", "weight"})
    version: Any = rule.get("version")
    parse_version(f"{field}.version", version)
    weight = parse_count(f"{field}.weight", rule.get("weight"), 0, MAX_WEIGHT)
    return Share(version if isinstance(version, str) else int(version), weight)


def routed(routings: Routings, schedulers: Schedulers, draft: Draft) -> Draft:
    """Return the draft with the next version by the shares, if it names none."""
    routing = routings.get(draft.type)
    if routing is None or draft.shape.version is not None:
        return draft
    shares = {str(place): rule.weight for place, rule in enumerate(routing.rules)}
    place = schedulers.of(f"version:{draft.type}").take(shares, shares)
    written = routing.rules[int(place)].version
    version = parse_version("version", written)
    spec = encode({**decode(draft.shape.spec), "version": written, ROUTED: True})
    demand = demand_of(draft.type, version, decode(draft.meta))
    return msgspec.structs.replace(draft.shaped(spec=spec, version=version), demand=demand)
