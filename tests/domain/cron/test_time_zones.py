"""Accepted names of time zones, and the suggestions of refusals."""

import pytest

from ojs_server.domain.cron.time_zones import known_zones, parse_zone
from ojs_server.domain.errors import InvalidRequest


@pytest.mark.parametrize(
    "name",
    ["UTC", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe", "Etc/UTC", "Japan"],
)
def test_an_iana_name_is_taken(name: str) -> None:
    assert parse_zone(name).key == name


@pytest.mark.parametrize("given", ["+05:00", "-0500", "+5", "UTC+5", "GMT-3", "utc+05:30", "GMT0"])
def test_an_offset_is_refused(given: str) -> None:
    with pytest.raises(InvalidRequest, match="fixed offset") as refused:
        parse_zone(given)
    assert given in refused.value.message
    assert refused.value.details == {"field": "timezone"}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("EST", "America/New_York"),
        ("PST", "America/Los_Angeles"),
        ("EST5EDT", "America/New_York"),
        ("CET", "Europe/Berlin"),
        ("GMT", "Europe/London"),
        ("Z", "UTC"),
    ],
)
def test_an_abbreviation_is_refused_and_a_place_suggested(given: str, meant: str) -> None:
    with pytest.raises(InvalidRequest, match=f'an abbreviation; .* mean "{meant}"'):
        parse_zone(given)
    assert given not in known_zones()
    assert parse_zone(meant).key == meant


def test_an_unknown_abbreviation_gets_no_guess() -> None:
    with pytest.raises(InvalidRequest, match=r"an abbreviation; .* such as Europe/Berlin$"):
        parse_zone("QQQ")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("america/new_york", "America/New_York"),
        ("New York", "America/New_York"),
        ("Berlin", "Europe/Berlin"),
        ("Europe/Berln", "Europe/Berlin"),
        ("utc", "UTC"),
    ],
)
def test_a_near_miss_is_refused_and_the_name_suggested(given: str, meant: str) -> None:
    with pytest.raises(InvalidRequest, match="not an IANA name") as refused:
        parse_zone(given)
    suggestion = refused.value.message.rpartition("did you mean ")[2]
    assert suggestion.strip('"?').rpartition("/")[2] == meant.rpartition("/")[2]


@pytest.mark.parametrize("given", ["", "Mars/Olympus", "localtime", "Factory", "../UTC", "x" * 500])
def test_anything_else_is_refused(given: str) -> None:
    with pytest.raises(InvalidRequest, match="not an IANA name"):
        parse_zone(given)


@pytest.mark.parametrize("given", [None, 5, ["UTC"]])
def test_a_zone_is_a_string(given: object) -> None:
    with pytest.raises(InvalidRequest, match="must be an IANA name"):
        parse_zone(given)


def test_the_field_is_named_as_the_caller_says() -> None:
    with pytest.raises(InvalidRequest, match=r"`options\.timezone`"):
        parse_zone("EST", "options.timezone")
