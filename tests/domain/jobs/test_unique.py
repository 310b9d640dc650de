"""The unique policy: its canonical form, its key, and conflicting jobs."""

from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.jobs.job import STATES, TERMINAL, Job
from ojs_server.domain.jobs.unique import UNFINISHED, Unique, parse_unique, unique_of
from ojs_wire import codec
from tests.domain.sample_jobs import NOW, job


def wire(given: object) -> Any:
    """A policy as its job shows it."""
    policy = parse_unique(given)
    assert policy is not None
    return codec.decode(codec.encode(policy.as_wire()))


def unique(given: object, **body: Any) -> Unique:
    """Return the parsed policy of a job."""
    policy = parse_unique(given)
    assert policy is not None
    of = {"job_type": "t", "queue": "q", "args": [], "meta": {}, **body}
    return unique_of(policy, **of)


def same(given: object, one: dict[str, Any], other: dict[str, Any]) -> bool:
    return unique(given, **one).key == unique(given, **other).key


@pytest.mark.parametrize(
    ("given", "policy"),
    [
        ({}, {}),
        ({"keys": None, "on_conflict": None, "period": None, "states": None}, {}),
        ({"keys": ["queue", "args", "queue"]}, {"keys": ["queue", "args"]}),
        ({"key": ["args"]}, {"keys": ["args"]}),
        ({"key": "args"}, {"keys": ["args"]}),
        ({"keys": None, "key": "args"}, {"keys": ["args"]}),
        ({"keys": ["queue"], "key": "args"}, {"keys": ["queue"]}),
        ({"keys": []}, {}),
        ({"args_keys": ["user"]}, {"keys": ["type", "args"], "args_keys": ["user"]}),
        ({"meta_keys": ["t"], "key": "queue"}, {"keys": ["queue", "meta"], "meta_keys": ["t"]}),
        ({"args_keys": []}, {}),
        (
            {"keys": ["meta"], "meta_keys": ["tenant"]},
            {"keys": ["meta"], "meta_keys": ["tenant"]},
        ),
        ({"period": "PT1H"}, {"period": "PT3600S"}),
        ({"period_ms": 1500}, {"period": "PT1.5S"}),
        ({"period_ms": 1500, "period": "PT1S"}, {"period": "PT1S"}),
        ({"states": ["active", "completed"]}, {"states": ["active", "completed"]}),
        ({"on_conflict": "ignore"}, {"on_conflict": "ignore"}),
        ({"on_conflict": "use_existing"}, {"on_conflict": "ignore"}),
        ({"on_conflict": "replace_except_schedule"}, {"on_conflict": "replace_except_schedule"}),
        ({"unknown": 1}, {}),
    ],
)
def test_policies(given: dict[str, Any], policy: dict[str, Any]) -> None:
    assert wire(given) == {"keys": ["type"], "on_conflict": "reject", **policy}
    assert parse_unique(wire(given)) == parse_unique(given)


def test_no_policy_is_none() -> None:
    assert parse_unique(None) is None


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        (5, "unique", "must be an object, not a number"),
        ({"keys": ["arg"]}, "unique.keys", 'did you mean "args"'),
        ({"keys": [5]}, "unique.keys", "non-empty strings"),
        ({"keys": ["type"], "key": "arg"}, "unique.key", 'did you mean "args"'),
        ({"period": "PT1S", "period_ms": 0}, "unique.period_ms", "longer than zero"),
        ({"keys": [""]}, "unique.keys", "non-empty strings"),
        ({"keys": {"a": 1}}, "unique.keys", "must be an array"),
        ({"args_keys": "a"}, "unique.args_keys", "must be an array"),
        ({"args_keys": [str(n) for n in range(51)]}, "unique.args_keys", "at most 50"),
        ({"keys": ["meta"]}, "unique.meta_keys", "at least one key"),
        ({"keys": ["meta"], "meta_keys": []}, "unique.meta_keys", "at least one key"),
        ({"states": ["actve"]}, "unique.states", 'did you mean "active"'),
        ({"period": "PT0S"}, "unique.period", "longer than zero"),
        ({"period": 60}, "unique.period", "with its unit"),
        ({"period": "soon"}, "unique.period", "such as PT30S"),
        ({"period_ms": 0}, "unique.period_ms", "longer than zero"),
        ({"period_ms": []}, "unique.period_ms", "not an array"),
        ({"on_conflict": "rejct"}, "unique.on_conflict", 'did you mean "reject"'),
        ({"on_conflict": 5}, "unique.on_conflict", "must be one of reject"),
    ],
)
def test_a_bad_policy_names_its_member(given: Any, field: str, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words) as refused:
        parse_unique(given)
    assert refused.value.details == {"field": field}


USER = {"args": [1, {"user": 7, "at": "noon"}, {"user": 9}]}


@pytest.mark.parametrize(
    ("policy", "one", "other", "equal"),
    [
        ({}, {"queue": "a", "args": [1], "meta": {"x": 1}}, {}, True),
        ({}, {"job_type": "a"}, {"job_type": "b"}, False),
        ({"keys": ["queue"]}, {"job_type": "a"}, {"job_type": "b"}, False),
        ({"keys": ["queue"]}, {"queue": "a"}, {"queue": "b"}, False),
        ({"keys": ["queue"]}, {"args": [1]}, {"args": [2]}, True),
        ({"keys": ["args"]}, {"args": [1]}, {"args": [2]}, False),
        ({"keys": ["args"]}, {"args": [{"a": 1, "b": 2}]}, {"args": [{"b": 2.0, "a": 1}]}, True),
        ({"keys": ["args"]}, {"args": [1, 2]}, {"args": [2, 1]}, False),
        ({"args_keys": ["user"]}, USER, {"args": [{"user": 7, "at": "night"}]}, True),
        ({"args_keys": ["user"]}, USER, {"args": [{"user": 9}]}, False),
        ({"args_keys": ["user", "at"]}, USER, {"args": [{"user": 7, "at": "night"}]}, False),
        ({"args_keys": ["user"]}, {"args": [{"user": None}]}, {"args": [{"user": 0}]}, False),
        ({"meta_keys": ["t"]}, {"meta": {"t": 1, "x": 1}}, {"meta": {"t": 1, "x": 2}}, True),
        ({"meta_keys": ["t"]}, {"meta": {"t": 1}}, {"meta": {"t": 2}}, False),
        ({"meta_keys": ["t"]}, {"meta": {"t": None}}, {"meta": {}}, False),
        ({"meta_keys": ["t"]}, {"meta": {"x": 1}}, {"meta": {}}, True),
    ],
)
def test_what_counts_as_the_same(
    policy: dict[str, Any], one: dict[str, Any], other: dict[str, Any], equal: bool
) -> None:
    assert same(policy, one, other) is equal


def test_all_arguments_and_the_same_ones_by_name_are_told_apart() -> None:
    args = [{"a": 1}]
    assert unique({"keys": ["args"]}, args=args).key != unique({"args_keys": ["a"]}, args=args).key


def test_states_period_and_conflict_are_no_part_of_the_fingerprint() -> None:
    policies = ({"period": "PT1H"}, {"states": ["active"]}, {"on_conflict": "ignore"})
    assert {unique(policy).key for policy in policies} == {unique({}).key}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([{"user": 1}], "names 'order', which the first object of `args` does not have"),
        ([{"user": 1}, {"order": 1}], "names 'order'"),
        ([], "there is none"),
        (["order", ["order"]], "there is none"),
    ],
)
def test_a_missing_argument_is_named(args: list[Any], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words) as refused:
        unique({"args_keys": ["order"]}, args=args)
    assert refused.value.details == {"field": "unique.args_keys"}


NAMES = st.sampled_from(("a", "b", "c"))
OBJECTS = st.dictionaries(NAMES, st.integers(0, 1), min_size=1)


@for_all(OBJECTS, OBJECTS, st.sets(NAMES))
def test_named_arguments_alone_decide(
    one: dict[str, int], other: dict[str, int], names: set[str]
) -> None:
    chosen = sorted(names & one.keys() & other.keys())
    equal = [one[name] for name in chosen] == [other[name] for name in chosen]
    policy = {"keys": ["type"], "args_keys": chosen}
    assert same(policy, {"args": [one]}, {"args": [other]}) is equal


def at(state: str, age_ms: int = 60_000) -> Job:
    return job(state, id=f"{state}-{age_ms}", created_at=NOW - age_ms)


@pytest.mark.parametrize("state", list(STATES))
def test_by_default_what_is_not_finished_stands_in_the_way(state: str) -> None:
    stands = state not in TERMINAL
    assert (unique({}).conflict([at(state)], NOW) is not None) is stands
    assert (state in UNFINISHED) is stands


@pytest.mark.parametrize("state", list(STATES))
def test_named_states_alone_stand_in_the_way(state: str) -> None:
    only = unique({"states": [state]})
    assert only.conflict([at(other) for other in STATES], NOW) == at(state)
    assert only.conflict([at(other) for other in STATES if other != state], NOW) is None


@pytest.mark.parametrize(("age_ms", "stands"), [(0, True), (999, True), (1000, False)])
def test_a_period_begins_with_the_job_that_is_there(age_ms: int, stands: bool) -> None:
    found = unique({"period": "PT1S"}).conflict([at("available", age_ms)], NOW)
    assert (found is not None) is stands


@pytest.mark.parametrize(
    ("jobs", "chosen"),
    [
        ([], None),
        ([at("available", 9), at("retryable", 5)], at("retryable", 5)),
        ([at("completed", 1), at("available", 9)], at("available", 9)),
        ([at("completed", 3), at("cancelled", 2)], at("cancelled", 2)),
        ([at("available", 5), at("active", 5)], at("active", 5)),
    ],
)
def test_of_several_the_newest_that_is_not_finished_counts(
    jobs: list[Job], chosen: Job | None
) -> None:
    assert unique({"states": list(STATES)}).conflict(jobs, NOW) == chosen


def test_a_refusal_says_which_job_is_there() -> None:
    policy = unique({})
    alone, third = policy.refusal(at("active"), None), policy.refusal(at("active"), 2)
    expected = {
        "existing_job_id": at("active").id,
        "existing_job_state": "active",
        "uniqueness_key": policy.key.hex(),
    }
    assert alone.details == expected
    assert third.details == {"index": 2, **expected}
    assert third.message == f"jobs[2]: {alone.message}"
    assert policy.key.hex() not in alone.message
    within = policy.refusal_within(3, 1)
    assert "jobs[3]" in within.message
    assert "jobs[1]" in within.message
    assert within.details == {
        "index": 3,
        "existing_index": 1,
        "uniqueness_key": policy.key.hex(),
    }
