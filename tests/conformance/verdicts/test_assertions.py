"""Answers held against assertions: every check is planted once right and once wrong."""

from typing import Any

import msgspec
import pytest

from conformance.language.template import Scope
from conformance.language.values import Missing
from conformance.verdicts.assertions import Answer, failed_checks
from conformance.verdicts.exchanges import parse_body
from tests.conformance.cases import one_step

JOB = {"id": "j-1", "state": "active", "attempt": 1, "meta": {"a.b": "c"}}


def answer(
    json: Any = None,
    *,
    body: bytes | None = None,
    status: int = 200,
    took: int = 10,
    **headers: str,
) -> Answer:
    """An answer with a JSON body, or with exactly these bytes."""
    content = msgspec.json.encode(json) if body is None else body
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, names, content.decode(), parse_body(content), took)


def told(assertions: dict[str, Any], got: Answer | None, scope: Scope | None = None) -> list[str]:
    """The failed checks as text."""
    step = one_step(assertions=assertions)
    return [str(failure) for failure in failed_checks(step, got, scope or Scope())]


@pytest.mark.parametrize(
    ("status", "right", "wrong", "expected"),
    [
        (200, 200, 201, "200"),
        ("number:range(400,422)", 409, 500, "number:range(400,422)"),
        ("one_of: 400, 422", 422, 404, '{"$in":[400,422]}'),
        ([200, 201], 201, 204, '{"$in":[200,201]}'),
        ({"$in": [200, 201]}, 200, 204, '{"$in":[200,201]}'),
    ],
)
def test_status(status: Any, right: int, wrong: int, expected: str) -> None:
    assert told({"status": status}, answer(status=right)) == []
    assert told({"status": status}, answer(status=wrong)) == [
        f"[s1] status: expected {expected}, got {wrong}"
    ]


@pytest.mark.parametrize("key", ["status_in", "status_one_of"])
def test_status_lists(key: str) -> None:
    assert told({key: [200, 409]}, answer(status=409)) == []
    assert told({key: [200, 409]}, answer(status=404)) == [
        '[s1] status: expected {"$in":[200,409]}, got 404'
    ]


def test_body_entries_all_count() -> None:
    wanted = {"$.job.id": "j-2", "$.job.attempt": "1", "$.job.state": "active", "$.x[0]": "any"}
    assert told({"body": wanted}, answer({"job": JOB})) == [
        '[s1] $.job.id: expected "j-2", got "j-1"',
        '[s1] $.job.attempt: expected "1", got 1',
        "[s1] $.x[0]: expected any, got nothing ($ has no key 'x')",
    ]


def test_a_nested_mismatch_tells_its_place() -> None:
    assert told({"body": {"$.args": [1, {"a": 2}]}}, answer({"args": [1, {"a": 3}]})) == [
        "[s1] $.args[1].a: expected 2, got 3"
    ]


def test_dotted_keys_and_the_whole_body() -> None:
    wanted = {"$.job.meta.a.b": "c", "$": {"job": {"attempt": {"$gte": 1}}}}
    assert told({"body": wanted}, answer({"job": JOB})) == []


@pytest.mark.parametrize(
    ("body", "actual"),
    [
        (b"", "nothing (the body is empty)"),
        (b"[]", "[]"),
        (b"null", "null"),
        (b'"text"', '"text"'),
        (b"<p>", "nothing (the body is not JSON: JSON is malformed: invalid character (byte 0))"),
    ],
)
@pytest.mark.parametrize(
    "assertions", [{"body": {"$.a": "absent"}}, {"body": {}}, {"body_absent": ["$.a"]}]
)
def test_a_body_that_is_no_object_fails(
    assertions: dict[str, Any], body: bytes, actual: str
) -> None:
    assert told(assertions, answer(body=body)) == [
        f"[s1] body: expected a JSON object, got {actual}"
    ]


def test_an_unreadable_body_is_missing() -> None:
    assert isinstance(parse_body(b'"\xff"'), Missing)
    assert isinstance(parse_body(b"[" * 100_000), Missing)


def test_body_or() -> None:
    either = {"body": {"$or": [{"$.jobs": []}, {"$empty": True}]}}
    assert told(either, answer({"jobs": []})) == []
    assert told(either, answer(body=b"", status=204)) == []
    assert told(either, answer({"jobs": [1]})) == [
        '[s1] $or: expected one of [{"$.jobs":[]},{"$empty":true}], got {"jobs":[1]}'
    ]
    assert len(told(either, answer(body=b"[]"))) == 1


def test_body_or_beside_other_entries() -> None:
    wanted = {"body": {"$or": [{"$.a": 1}, {"$.a": 2, "$.b": 2}], "$.c": 3}}
    assert told(wanted, answer({"a": 2, "b": 2, "c": 3})) == []
    assert [line.split(":")[0] for line in told(wanted, answer({"a": 2, "b": 1}))] == [
        "[s1] $or",
        "[s1] $.c",
    ]


def test_body_absent() -> None:
    assertions = {"body_absent": ["$.a", "$.b.c"]}
    assert told(assertions, answer({"a": None})) == []
    assert told(assertions, answer({"a": 0, "b": {"c": ""}})) == [
        "[s1] $.a: expected absent, got 0",
        '[s1] $.b.c: expected absent, got ""',
    ]


def test_body_contains() -> None:
    assert told({"body_contains": ["jobs_total 1"]}, answer(body=b"jobs_total 1\n")) == []
    assert told({"body_contains": ["jobs_total 2"]}, answer(body=b"jobs_total 1")) == [
        '[s1] body_contains: expected a body containing "jobs_total 2", got "jobs_total 1"'
    ]


def test_headers() -> None:
    got = answer(content_type="text/plain", retry_after="5")
    right = {
        "Content-Type": "text/plain",
        "retry-after": {"$match": "^\\d+$"},
        "X-None": {"$exists": False},
    }
    assert told({"headers": right}, got) == []
    wrong = {
        "Content-Type": "text/plain; charset=utf-8",
        "Retry-After": {"$eq": "6"},
        "X-None": {"$exists": True},
        "X-Other": "any",
    }
    assert told({"headers": wrong}, got) == [
        '[s1] header:Content-Type: expected "text/plain; charset=utf-8", got "text/plain"',
        '[s1] header:Retry-After: expected "6", got "5"',
        '[s1] header:X-None: expected {"$exists":true}, got nothing (no such header)',
        '[s1] header:X-Other: expected "any", got nothing (no such header)',
    ]


@pytest.mark.parametrize(
    ("timing", "right", "wrong", "expected"),
    [
        ({"less_than": 100}, 99, 100, "less than 100 ms"),
        ({"greater_than": 100}, 101, 100, "more than 100 ms"),
        ({"approximate": 1000}, 1500, 1501, "1000 ms, give or take 500 ms"),
        ({"approximate": 50}, 150, 151, "50 ms, give or take 100 ms"),
    ],
)
def test_timing(timing: dict[str, int], right: int, wrong: int, expected: str) -> None:
    assert told({"timing_ms": timing}, answer(took=right)) == []
    assert told({"timing_ms": timing}, answer(took=wrong)) == [
        f"[s1] timing: expected {expected}, got {wrong} ms"
    ]


def scope_with(**bodies: Any) -> Scope:
    """A scope that knows these answers."""
    made = Scope()
    made.bodies.update(bodies)
    return made


def test_templates_in_paths_matchers_headers_and_texts() -> None:
    assertions = {
        "body": {
            "$.jobs[?(@.id=='{{steps.a.response.body.id}}')].id": "{{steps.a.response.body.id}}"
        },
        "headers": {"X-Id": "id-{{steps.a.response.body.id}}"},
        "body_contains": ["{{steps.a.response.body.id}}"],
    }
    got = answer({"jobs": [{"id": "other"}, {"id": "j-1"}]}, x_id="id-j-1")
    assert told(assertions, got, scope_with(a={"id": "j-1"})) == []
    assert len(told(assertions, got, scope_with(a={"id": "j-9"}))) == 3


def test_an_answer_is_not_obeyed_as_a_matcher() -> None:
    assertions = {"body": {"$.id": "{{steps.a.response.body.id}}"}}
    assert told(assertions, answer({"id": "j-1"}), scope_with(a={"id": "any"})) == [
        '[s1] $.id: expected "any", got "j-1"'
    ]


def test_an_unresolved_reference_fails_the_check() -> None:
    assertions = {"body": {"$.id": "{{steps.a.response.body.id}}"}}
    assert told(assertions, answer({"id": "j-1"}), scope_with(a={})) == [
        "[s1] $.id: expected a value for steps.a.response.body.id, got nothing ($ has no key 'id')"
    ]


def test_a_path_that_an_answer_broke_fails_the_check() -> None:
    assertions = {"body": {"$.jobs[?(@.id=='{{steps.a.response.body.id}}')]": "exists"}}
    (line,) = told(assertions, answer({"jobs": []}), scope_with(a={"id": "it's"}))
    assert "expected an assertion that can be read once it is filled in, got path" in line


def claim(**keys: Any) -> dict[str, Any]:
    """An exclusive claim over the fetches of steps a and b."""
    fetches = ["{{steps.a.response.body.jobs}}", "$.steps.b.response.body.jobs"]
    return {"exclusive_claim": {"job_id": "j-1", "fetches": fetches, **keys}}


BOTH = {"exactly_one_has_job": True, "exactly_one_empty": True}


@pytest.mark.parametrize(
    ("first", "second"), [([JOB], []), ([], [JOB]), ([], ["j-1"]), ([], [{"id": "x"}, JOB])]
)
def test_exclusive_claim_holds(first: list[Any], second: list[Any]) -> None:
    scope = scope_with(a={"jobs": first}, b={"jobs": second})
    assert told(claim(**BOTH), None, scope) == []


@pytest.mark.parametrize(
    ("first", "second", "flags", "problem"),
    [
        ([JOB], [JOB], BOTH, 'expected exactly one fetch with job "j-1", got 2 of them'),
        ([], [], BOTH, 'expected exactly one fetch with job "j-1", got 0 of them'),
        ([JOB], [{"id": "x"}], BOTH, "expected exactly one empty fetch, got 0 of them"),
        ([], [], {"exactly_one_empty": True}, "expected exactly one empty fetch, got 2 of them"),
    ],
)
def test_exclusive_claim_is_broken(
    first: list[Any], second: list[Any], flags: dict[str, bool], problem: str
) -> None:
    scope = scope_with(a={"jobs": first}, b={"jobs": second})
    assert told(claim(**flags), None, scope) == [f"[s1] exclusive_claim: {problem}"]


def test_exclusive_claim_needs_arrays_of_jobs() -> None:
    assert told(claim(**BOTH), None, scope_with(a={"jobs": "j-1"}, b={"jobs": []})) == [
        '[s1] exclusive_claim.fetches[0]: expected an array of jobs, got "j-1"'
    ]
    assert told(claim(**BOTH), None, scope_with(a={"jobs": []}, b={})) == [
        "[s1] exclusive_claim: expected a value for steps.b.response.body.jobs, "
        "got nothing ($ has no key 'jobs')"
    ]


def test_equality_compares_deeply() -> None:
    same = {"equality": {"$.steps.a.response.body": "{{steps.b.response.body}}"}}
    first, second = {"job": JOB}, {"job": {**JOB, "attempt": 1.0}}
    assert told(same, None, scope_with(a=first, b=second)) == []
    assert told(same, None, scope_with(a={"n": 1}, b={"n": 1, "m": None})) == [
        '[s1] equality $.steps.a.response.body: expected {"n":1,"m":null}, got {"n":1}'
    ]


def test_equality_takes_a_literal_and_any_number_of_pairs() -> None:
    pairs = {"{{steps.a.response.body.n}}": 2, "$.steps.a.response.body.t": "x"}
    assert told({"equality": pairs}, None, scope_with(a={"n": 1, "t": "y"})) == [
        "[s1] equality {{steps.a.response.body.n}}: expected 2, got 1",
        '[s1] equality $.steps.a.response.body.t: expected "x", got "y"',
    ]


def test_all_kinds_of_checks_are_reported_together() -> None:
    assertions = {
        "status": 200,
        "body": {"$.a": 1},
        "headers": {"X": "y"},
        "timing_ms": {"less_than": 1},
        "body_contains": ["z"],
        "equality": {"a": "b"},
    }
    fields = [line.split()[1] for line in told(assertions, answer({}, status=500))]
    assert fields == ["status:", "$.a:", "header:X:", "timing:", "body_contains:", "equality"]


def test_a_step_without_assertions_checks_nothing() -> None:
    assert failed_checks(one_step(), answer(status=500), Scope()) == []
