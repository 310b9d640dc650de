"""Versions, and the version ranges of handlers."""

import pytest

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.version import Version, parse_range, parse_version, within


@pytest.mark.parametrize("given", [2, 2.0, "2", "2.0", "2.0.0"])
def test_every_spelling_of_a_version_is_the_same(given: object) -> None:
    assert parse_version("version", given) == Version(2)


@pytest.mark.parametrize(
    "given", [True, -1, 1.5, None, "", "2.", "v2", "02", "1.2.3.4", "1234567890", [1], 10**9]
)
def test_anything_else_is_refused(given: object) -> None:
    with pytest.raises(InvalidRequest, match="`version` must be an integer or a text"):
        parse_version("version", given)


def test_versions_are_compared_as_numbers() -> None:
    texts = ["10.0", "2.10", "2.9", "1.99.99"]
    ordered = sorted(texts, key=lambda text: parse_version("version", text))
    assert ordered == ["1.99.99", "2.9", "2.10", "10.0"]


@pytest.mark.parametrize(
    ("bounds", "inside", "outside"),
    [
        ("*", ["0.1", "9.0"], []),
        # Within a major version everything is compatible.
        ("2.1", ["2.0", "2.1", "2.9"], ["1.9", "3.0"]),
        ("=2.1", ["2.1"], ["2.0", "2.2"]),
        (">=2.0", ["2.0", "3.0"], ["1.9"]),
        (">=1.0 <3.0", ["1.0", "2.9"], ["0.9", "3.0"]),
        (">= 1.0,< 3.0", ["1.0", "2.9"], ["0.9", "3.0"]),
        (">1.0, <=2", ["1.0.1", "2.0"], ["1.0", "2.0.1"]),
    ],
)
def test_a_range_holds_what_all_its_bounds_allow(
    bounds: str, inside: list[str], outside: list[str]
) -> None:
    parsed = parse_range("versions", bounds)
    assert all(within(parse_version("v", text), parsed) for text in inside)
    assert not any(within(parse_version("v", text), parsed) for text in outside)


@pytest.mark.parametrize("text", ["", "^1.0", "~1", ">=", "1 - 2", "latest", "1 " * 60])
def test_a_range_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"`handlers\[0\]\.versions` must be"):
        parse_range("handlers[0].versions", text)
