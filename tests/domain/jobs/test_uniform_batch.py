"""Jobs checked together as one batch come out as if each had been checked alone."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ojs_server.domain.errors import OjsError
from ojs_server.domain.jobs.uniform_batch import parse_uniform
from ojs_server.domain.jobs.validate import MAX_META, parse_draft

# Of each kind of what a batch's jobs may be: plain ones, and such as must be looked at singly.
SHARED: list[dict[str, Any]] = [
    {"type": "t"},
    {"type": "t", "queue": "other", "options": {"queue": "other"}},
    {"type": "t", "priority": 1},
    {"type": "t", "priority": True},
    {"type": "t", "x": 1.0},
    {"type": "t", "pending": True, "delay_until": "+PT5S"},
    {"type": "t", "x": "y" * 600},
    {"type": "t", "meta": {"a": "b"}},
    {"type": "t", "id": "01890a5d-ac96-774b-bcce-b302099a8057"},
    {"type": "t", "unique": {"keys": ["type"]}},
    {"type": "t", "version": "1.0"},
    {"type": "Not a type"},
    {"queue": "q"},
]
ARGS = st.lists(st.one_of(st.integers(-9, 9), st.text(max_size=3), st.none()), max_size=2)


@given(st.sampled_from(SHARED), st.lists(ARGS, min_size=1, max_size=6), st.booleans())
@example({"type": "t"}, [[], [1]], False)
def test_alike_jobs_are_the_drafts_that_each_would_be(
    shared: dict[str, Any], args: list[list[Any]], strict: bool
) -> None:
    found = parse_uniform([{**shared, "args": one} for one in args], strict=strict)
    if found is not None:
        assert list(found) == [parse_draft({**shared, "args": one}, strict=strict) for one in args]
        assert list(found[1:]) == list(found)[1:]
        assert len(found) == len(args)


@pytest.mark.parametrize("shared", SHARED[:3] + SHARED[4:7])
def test_plain_jobs_that_say_the_same_are_alike(shared: dict[str, Any]) -> None:
    found = parse_uniform([{"args": [n], **shared} for n in range(3)])
    assert found is not None
    assert found.args == [b"[0]", b"[1]", b"[2]"]


@pytest.mark.parametrize(
    "bodies",
    [
        [{"type": "t", "args": []}, {"type": "u", "args": []}],
        [{"type": "t", "args": []}, {"type": "t", "args": [], "x": 1}],
        [{"type": "t", "args": [], "x": 1}, {"type": "t", "args": [], "x": True}],
        [{"type": "t", "args": [], "x": 1}, {"type": "t", "args": [], "x": 1.0}],
        [{"type": "t", "args": []}, {"type": "t", "args": [], "id": "a"}],
        [{"type": "t", "args": []}, {"type": "t", "args": {}}],
        [{"type": "t", "args": []}, {"type": "t"}],
        [{"type": "t", "args": []}, []],
        [{"type": "t", "args": []}, {"type": "t", "args": ["x" * MAX_META]}],
    ],
)
def test_jobs_that_differ_are_for_a_closer_look(bodies: list[Any]) -> None:
    assert parse_uniform(bodies) is None
    assert parse_uniform(bodies[::-1]) is None


def test_a_mistake_is_told_by_those_who_look_at_each() -> None:
    with pytest.raises(OjsError):
        parse_draft({"type": "Not a type", "args": []})
    assert parse_uniform([{"type": "Not a type", "args": []}] * 2) is None
    unknown = [{"type": "t", "args": [], "options": {"quue": "x"}}] * 2
    assert parse_uniform(unknown) is not None
    assert parse_uniform(unknown, strict=True) is None
