"""Errors carry their codes, and unknown names get a suggestion."""

import inspect

import pytest

from ojs_server.domain import errors
from ojs_server.domain.errors import Conflict, Duplicate, OjsError, Unavailable, invalid
from ojs_server.domain.suggestions import nearest
from ojs_wire import codes

KINDS = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, OjsError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_a_code_of_its_own_status(kind: type[OjsError]) -> None:
    error = kind("what went wrong")
    assert str(error) == error.message == "what went wrong"
    assert error.answer_code in codes.ALL
    assert error.headers == {}
    assert kind("x", code=codes.OVERLOADED).answer_code == codes.OVERLOADED


def test_statuses() -> None:
    assert Conflict("x").answer_code.status == Duplicate("x").answer_code.status == 409
    assert Unavailable("x").answer_code.retryable
    assert invalid("a", "is missing", limit=5).details == {"field": "a", "limit": 5}


@pytest.mark.parametrize(
    ("given", "clause"),
    [
        ("queu", '; did you mean "queue"?'),
        ("queue", '; did you mean "queue"?'),
        ("zzz", ""),
        ("", ""),
        (5, ""),
        (None, ""),
        ("x" * 100_000, ""),
    ],
)
def test_the_nearest_name(given: object, clause: str) -> None:
    assert nearest(given, ("queue", "priority")) == clause
