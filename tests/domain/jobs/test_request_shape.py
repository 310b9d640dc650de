"""Shapes are cached by their text: nothing of one request may leak into the next."""

from typing import Any

import pytest

from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs.request_shape import MAX_REMEMBERED
from ojs_server.domain.jobs.validate import parse_draft

PLAIN = {"type": "email.send", "args": [1]}


def refusal(body: dict[str, Any], *, strict: bool = False) -> str:
    with pytest.raises(OjsError) as caught:
        parse_draft(body, strict=strict)
    return caught.value.message


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({"priority": 1}, {"priority": True}),
        ({"priority": 0.0}, {"priority": False}),
        ({"pending": True}, {"pending": 1}),
        ({"retry": {"max_attempts": 1}}, {"retry": {"max_attempts": True}}),
    ],
)
def test_values_that_python_takes_for_equal_are_told_apart(
    good: dict[str, Any], bad: dict[str, Any]
) -> None:
    for _ in range(2):
        parse_draft({**PLAIN, "options": good})
        assert next(iter(good)) in refusal({**PLAIN, "options": bad})


def test_a_mistake_is_refused_each_time_alike() -> None:
    body = {**PLAIN, "options": {"queue": "Not A Queue"}}
    assert refusal(body) == refusal(body)


def test_strict_and_lenient_requests_do_not_share_a_verdict() -> None:
    body = {**PLAIN, "options": {"colour": "red"}}
    parse_draft(body)
    assert "options.colour" in refusal(body, strict=True)
    parse_draft(body)


def test_requests_of_one_shape_keep_what_is_their_own() -> None:
    shared = {"type": "email.send", "options": {"metadata": {"team": "a"}}}
    first = parse_draft({**shared, "args": [1], "meta": {"trace_id": "one"}})
    second = parse_draft({**shared, "args": [2]})
    assert (first.args, first.meta) == (b"[1]", b'{"trace_id":"one","team":"a"}')
    assert (second.args, second.meta, second.trace_id) == (b"[2]", b'{"team":"a"}', None)


def test_requests_of_one_shape_have_fingerprints_of_their_own() -> None:
    shared = {"type": "email.send", "unique": {"keys": ["args"]}}
    keys = [
        unique.key
        for number in (1, 2, 1)
        if (unique := parse_draft({**shared, "args": [number]}).unique)
    ]
    assert keys[0] == keys[2] != keys[1]


def test_what_options_outrank_must_suit_the_arguments_of_each_request() -> None:
    shared = {
        "type": "email.send",
        "unique": {"args_keys": ["to"]},
        "options": {"unique": {"keys": ["type"]}},
    }
    for _ in range(2):
        parse_draft({**shared, "args": [{"to": "a"}]})
        assert "args_keys" in refusal({**shared, "args": []})


@pytest.mark.parametrize("length", [10, 2000])
def test_unknown_fields_are_kept_whatever_their_length(length: int) -> None:
    for sign in "ab":
        assert sign.encode() * length in parse_draft({**PLAIN, "x_note": sign * length}).shape.spec


def test_more_shapes_than_are_remembered_are_told_apart() -> None:
    bodies = [{**PLAIN, "queue": f"q{n}"} for n in range(MAX_REMEMBERED + 10)]
    for body in (*bodies, *bodies[:10]):
        assert parse_draft(body).queue == body["queue"]
