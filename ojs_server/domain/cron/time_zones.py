"""Time zones by IANA name; the data comes from the system or from `tzdata`."""

import re
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from ojs_server.domain.errors import InvalidRequest, invalid
from ojs_server.domain.suggestions import nearest
from ojs_wire.values import kind_of

# In the zone folders of some systems, but not places: the machine's own zone, and an empty one.
_NO_PLACE: Final = frozenset({"localtime", "Factory"})
_OFFSET: Final = re.compile(r"(?:UTC|GMT|Z)?[+-]?\d{1,2}(?::?\d{2})?", re.ASCII | re.IGNORECASE)
_ABBREVIATION: Final = re.compile(r"([A-Z]{1,5})(?:\d[A-Z]*)?", re.ASCII)
_PLACE_OF: Final = {
    "Z": "UTC",
    "UCT": "UTC",
    "GMT": "Europe/London",
    "BST": "Europe/London",
    "WET": "Europe/Lisbon",
    "CET": "Europe/Berlin",
    "CEST": "Europe/Berlin",
    "MET": "Europe/Berlin",
    "EET": "Europe/Helsinki",
    "EEST": "Europe/Helsinki",
    "MSK": "Europe/Moscow",
    "EST": "America/New_York",
    "EDT": "America/New_York",
    "ET": "America/New_York",
    "CST": "America/Chicago",
    "CDT": "America/Chicago",
    "MST": "America/Denver",
    "MDT": "America/Denver",
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "PT": "America/Los_Angeles",
    "AKST": "America/Anchorage",
    "HST": "Pacific/Honolulu",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "KST": "Asia/Seoul",
    "AEST": "Australia/Sydney",
    "AEDT": "Australia/Sydney",
    "NZST": "Pacific/Auckland",
    "NZDT": "Pacific/Auckland",
}


@cache
def known_zones() -> frozenset[str]:
    """Return the names that can be used: `UTC`, and those of places, not of offsets."""
    return frozenset(
        name
        for name in available_timezones() - _NO_PLACE
        if name == "UTC" or not (_ABBREVIATION.fullmatch(name) or _OFFSET.fullmatch(name))
    )


def parse_zone(given: object, field: str = "timezone") -> ZoneInfo:
    """Return the zone with an IANA name. Offsets and abbreviations are refused, as they have no
    summer time."""
    if not isinstance(given, str):
        raise invalid(field, f"must be an IANA name such as Europe/Berlin, not {kind_of(given)}")
    if given not in known_zones():
        raise _refuse(field, given[:100])
    return ZoneInfo(given)


def _refuse(field: str, given: str) -> InvalidRequest:
    if _OFFSET.fullmatch(given):
        return invalid(
            field,
            f'is the fixed offset "{given}"; allowed: UTC or an IANA name such as Europe/Berlin',
        )
    if match := _ABBREVIATION.fullmatch(given):
        place = _PLACE_OF.get(match[1])
        hint = f'; did you mean "{place}"?' if place else ""
        return invalid(
            field,
            f'is "{given}", an abbreviation; '
            f"allowed: UTC or an IANA name such as Europe/Berlin{hint}",
        )
    return invalid(
        field,
        f'is "{given}", which is not an IANA name; '
        f"allowed: UTC or a name such as Europe/Berlin{_near(given)}",
    )


def _near(given: str) -> str:
    place = given.replace(" ", "_").casefold()
    for name in sorted(known_zones()):
        if place in (name.casefold(), name.rpartition("/")[2].casefold()):
            return f'; did you mean "{name}"?'
    return nearest(given, sorted(known_zones()))
