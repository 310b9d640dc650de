"""Content negotiation by the Accept header."""

import pytest

from ojs_server.http.content_negotiation import preferred

TEXT, JSON, OJS = OFFERS = ("text/plain", "application/json", "application/openjobspec+json")


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (None, TEXT),
        ("", TEXT),
        ("*/*", TEXT),
        ("text/plain", TEXT),
        ("application/json", JSON),
        ("APPLICATION/JSON ; q=1.0", JSON),
        ("application/openjobspec+json", OJS),
        ("application/*", JSON),
        ("application/json, text/plain", TEXT),
        ("application/json, text/plain;q=0.9", JSON),
        ("application/json;q=0.5, text/plain;q=0.51", TEXT),
        ("application/json;q=0.5, */*;q=0.4", JSON),
        ("application/json;q=0, */*;q=0.1", TEXT),
        ("text/plain;q=0, */*", JSON),
        ("text/*;q=0.1, application/openjobspec+json;q=0.2, application/json;q=0.15", OJS),
        ("image/png", TEXT),
        ("application/json;q=2, text/plain", TEXT),
        ("application/json;q=high", TEXT),
        ("json, ;q=1, application/json;charset=utf-8", JSON),
        # As Prometheus asks, with and without protobuf.
        (
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,"
            "*/*;q=0.2",
            TEXT,
        ),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", TEXT),
    ],
)
def test_the_preferred_type_is_chosen(accept: str | None, wanted: str) -> None:
    assert preferred(accept, OFFERS) == wanted
