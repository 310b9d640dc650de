"""Tests of paths into documents: the value found, or the reason why there is none."""

from typing import Any

import pytest

from conformance.language.paths import BadPath, find, parse
from conformance.language.values import Missing

DOCUMENT: dict[str, Any] = {
    "job": {"id": "a1", "error": None, "tags": ["x", "y"], "grid": [[1, 2], [3, 4]]},
    "jobs": [
        {"id": "a1", "n": 1, "state": "active", "meta": {"ojs.key": "k1"}},
        {"id": "b]'2", "n": 2.0, "state": None},
        {"n": None, "deep": {"k": "v"}},
    ],
    "meta": {"ojs.codec.key_id": "flat", "ojs": {"codec": {"key_id": "nested", "other": 1}}},
    "a.b": {"c": "joined"},
    "a": {"b": {"c": "split", "d": 2}},
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", DOCUMENT),
        ("$.job.id", "a1"),
        ("job.id", "a1"),
        ("$.job.error", None),
        ("$.job.tags[1]", "y"),
        ("$.job.grid[1][0]", 3),
        ("$.jobs[0].meta.ojs.key", "k1"),
        ("$.jobs[*].id", ["a1", "b]'2"]),
        ("$.jobs[*].state", ["active"]),
        ("$.jobs[*].deep.k", ["v"]),
        ("$.jobs[?(@.id=='a1')].state", "active"),
        ('$.jobs[?(@.id=="b]\'2")].n', 2.0),
        ("$.jobs[?(@.n==2)].id", "b]'2"),
        ("$.jobs[?( @.deep.k == 'v' )].n", None),
        ("$.meta.ojs.codec.key_id", "flat"),
        ("$.meta.ojs.codec.other", 1),
        ('$.meta["ojs.codec.key_id"]', "flat"),
        ("$.meta['ojs']['codec'].key_id", "nested"),
        ('$.meta["ojs"].codec.key_id', "nested"),
        ("$['a.b'].c", "joined"),
        ("$.a.b.c", "joined"),
        ("$['a'].b.c", "split"),
        ("$.a['b'].c", "split"),
    ],
)
def test_path_leads_to_value(path: str, value: object) -> None:
    assert find(path, DOCUMENT) == value


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("$.nope", "$ has no key 'nope'"),
        ("$.job.nope.deeper", "$.job has no key 'nope'"),
        ("$.job.error.code", "$.job.error is null, not an object"),
        ("$.job.id.x", "$.job.id is a string, not an object"),
        ("$.job.tags.x", "$.job.tags is an array, not an object"),
        ("$.job.tags[2]", "$.job.tags has 2 elements, no [2]"),
        ("$.job[0]", "$.job is an object, not an array"),
        ("$.job[*]", "$.job is an object, not an array"),
        ("$.nope[0]", "$ has no key 'nope'"),
        ("$.jobs[?(@.id=='zz')].n", "no element of $.jobs has the wanted key"),
        ("$.a.b.d", "$.a.b has no key 'd'"),
        ("$.meta['ojs.codec'].x", "$.meta has no key 'ojs.codec'"),
    ],
)
def test_path_ends_early(path: str, why: str) -> None:
    assert find(path, DOCUMENT) == Missing(why)


def test_path_into_nothing() -> None:
    assert find("$.a", Missing("the body is empty")) == Missing("$ is nothing, not an object")


@pytest.mark.parametrize(
    "path",
    [
        "$.",
        "$..a",
        "a..b",
        "a.",
        "$a",
        "a[",
        "a[-1]",
        "a[x]",
        "a[0]b",
        "a]",
        "a[?(@.n>1)]",
        "a['x]",
    ],
)
def test_bad_path_is_refused(path: str) -> None:
    with pytest.raises(BadPath, match=r"^path "):
        parse(path)


def test_bad_bracket_names_the_allowed_ones() -> None:
    with pytest.raises(BadPath) as caught:
        parse("jobs[first].id")
    assert str(caught.value) == (
        "path 'jobs[first].id': '[first].id' is no bracket; "
        "allowed: [0], [*], [\"key\"], [?(@.key=='value')]"
    )
