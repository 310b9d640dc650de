"""Cases that cannot be judged are refused with a reason."""

from typing import Any

import pytest

from conformance.language.model import Case
from conformance.language.validation import faults_of
from tests.conformance.cases import case, step

OK = {"status": 200}


def problems_of(case: Case) -> tuple[str, ...]:
    return tuple(fault.text for fault in faults_of(case))


@pytest.mark.parametrize(
    "assertions",
    [
        {"status": 200},
        {"status": "number:range(400,422)"},
        {"status": "one_of:400,422"},
        {"status": [200, 201]},
        {"status": {"$in": [200, 201]}},
        {"status_in": [200]},
        {"status_one_of": [200]},
        {"body": {}},
        {"body": {"$.a": "any", "$": {}, "b": 1, "$.c[0]": None}},
        {"body": {"$or": [{"$.a": 1}, {"$empty": True}]}},
        {"body": {"$.jobs[?(@.id=='{{steps.s1.response.body.id}}')]": "exists"}},
        {"body": {"$.n": "number:range(1,{{steps.s1.response.body.n}})"}},
        {"body_absent": ["$.a"]},
        {"body_contains": ["a"]},
        {"headers": {"A": "b", "C": {"$exists": True}}},
        {"timing_ms": {"less_than": 5}},
        {"status": 200, "body_comment": "a note"},
    ],
)
def test_sound_assertions(assertions: dict[str, Any]) -> None:
    assert problems_of(case(step(assertions=assertions))) == ()


@pytest.mark.parametrize(
    ("assertions", "problem"),
    [
        ({}, "its assertions check nothing"),
        ({"body_comment": "a note"}, "its assertions check nothing"),
        ({"status_in": []}, "status_in is empty and checks nothing"),
        ({"headers": {}}, "headers is empty and checks nothing"),
        ({"body_absent": []}, "body_absent is empty and checks nothing"),
        ({"body_contains": []}, "body_contains is empty and checks nothing"),
        ({"equality": {}}, "equality is empty and checks nothing"),
        ({"body_contains": [""]}, "body_contains with an empty text checks nothing"),
        ({"timing_ms": {}}, "timing_ms needs less_than, greater_than or approximate"),
        ({"body_raw": "x", **OK}, "body_raw is reserved in the format and has no meaning yet"),
        ({"status": "ok"}, "status 'ok' is no number, number:range(a,b) or one_of:a,b"),
        ({"status": True}, "status true is no number, list, matcher or operator"),
        ({"status": []}, "$in takes an array with at least one matcher, not []"),
        (
            {"status": "number:rnage(1,2)"},
            "unknown matcher 'number:rnage(1,2)' (nearest: 'number:range(A,B)')",
        ),
        ({"headers": {"A": 1}}, "header 'A' takes a text or an operator, not 1"),
        ({"headers": {"A": {"$is": "x"}}}, "unknown operator '$is' (nearest: '$in')"),
        (
            {"body": {"$.a": "string:uuid4"}},
            "unknown matcher 'string:uuid4' (nearest: 'string:uuid')",
        ),
        ({"body": {"$ro": [{"$.a": 1}]}}, "unknown body operator '$ro' (nearest: '$or')"),
        ({"body": {"$or": {}}}, "$or takes an array of objects of path and matcher"),
        ({"body": {"$or": ["x"]}}, "$or takes an array of objects of path and matcher"),
        ({"body": {"$or": []}}, "$or without alternatives can never hold"),
        ({"body": {"$or": [{}]}}, "$or with an empty alternative checks nothing"),
        (
            {"body": {"$or": [{"$.a": {"$type": "uuid"}}]}},
            '$type takes one of string, number, boolean, null, array, object, not "uuid"',
        ),
        ({"body": {"$empty": 1}}, "$empty takes true or false, not 1"),
        ({"body": {"$.a.": 1}}, "path '$.a.': a key is expected at '.'"),
        ({"body_absent": ["a..b"]}, "path 'a..b': a key is expected at '..b'"),
        (
            {"exclusive_claim": {"job_id": "a", "fetches": [[]], "exactly_one_empty": True}},
            "exclusive_claim compares at least two fetches",
        ),
        (
            {"exclusive_claim": {"job_id": "a", "fetches": [[], []]}},
            "exclusive_claim needs exactly_one_has_job or exactly_one_empty",
        ),
    ],
)
def test_an_assertion_without_meaning_is_refused(assertions: dict[str, Any], problem: str) -> None:
    checked = step(id="s2", assertions=OK)
    assert problems_of(case(step(assertions=assertions), checked)) == (f"step 's1': {problem}",)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (step("FETCH"), "unknown action 'FETCH' (nearest: 'PATCH')"),
        (step(path=None), "GET needs a path"),
        (step(id="a.b"), "an id may not contain a dot"),
        (step(capture={"v": "$.a..b"}), "path '$.a..b': a key is expected at '..b'"),
        (step("WAIT"), "WAIT needs duration_ms or delay_ms"),
        (
            step("WAIT", delay_ms=5, assertions=OK),
            "WAIT has no answer, so it cannot check status",
        ),
        (step("ASSERT"), "ASSERT checks nothing: it needs exclusive_claim or equality"),
        (
            step("ASSERT", assertions={**OK, "body": {}, "equality": {"a": "b"}}),
            "ASSERT has no answer, so it cannot check body, status",
        ),
    ],
)
def test_an_unclear_step_is_refused(made: dict[str, Any], problem: str) -> None:
    name = made["id"]
    found = problems_of(case(made, step(id="s2", assertions=OK)))
    assert found == (f"step {name!r}: {problem}",)


def test_every_step_needs_an_id_of_its_own() -> None:
    made = case(
        step(id="", assertions=OK), step(id="x"), step(id="x"), setup={"steps": [step(id="x")]}
    )
    assert problems_of(made) == (
        "step number 2: it has no id",
        "step id 'x' is used 3 times",
    )


def test_a_case_without_any_check_is_refused() -> None:
    setup = {"steps": [step(id="before", assertions=OK)]}
    assert problems_of(case(step(), setup=setup)) == (
        "the case checks nothing: no step has an assertion",
    )


def test_steps_without_assertions_are_fine_beside_others() -> None:
    made = case(step(), step("WAIT", id="s2", delay_ms=1), step(id="s3", assertions=OK))
    assert problems_of(made) == ()


def test_loose_parallel_steps_are_refused() -> None:
    made = case(step(parallel_with="nobody", assertions=OK))
    assert problems_of(made) == ("step 's1': parallel_with names no other step: 'nobody'",)


def test_an_unreadable_level_is_refused() -> None:
    assert problems_of(case(step(assertions=OK), level="high")) == (
        "level 'high' is neither a number nor 'ext'",
    )


def test_requests_that_refer_to_themselves_or_to_later_steps_are_refused() -> None:
    def of(name: str) -> str:
        return f"/jobs/{{{{steps.{name}.response.body.id}}}}"

    circle = case(
        step(id="a", path=of("b")),
        step(id="b", path=of("a"), assertions=OK),
        step("POST", id="c", body={"id": of("c")}, assertions=OK),
        step(id="d", path=of("unknown"), assertions={"body": {"$.id": of("d")}}),
    )
    assert problems_of(circle) == (
        "step 'a': its request refers to step 'b', which comes later",
        "step 'c': its request refers to itself",
    )
