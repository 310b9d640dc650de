"""Variables: reading, merging and selecting."""

import pytest

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.jobs.job import StoredJob
from ojs_server.systems.zeebe.variables import (
    chosen,
    headers_of,
    merging,
    parse_variables,
    variables_of,
    with_variables,
)
from ojs_wire import codec
from tests.domain.sample_jobs import job

BIG = 9_223_372_036_854_775_807


def test_no_text_is_no_variables() -> None:
    assert parse_variables("") == {}


def test_numbers_keep_their_digits() -> None:
    text = f'{{"order":{BIG},"deep":[{BIG}],"unsigned":18446744073709551615}}'
    assert codec.encode(parse_variables(text)).decode() == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a":', "not valid JSON"),
        ("[1]", "must be a JSON object, not an array"),
        ('"a"', "must be a JSON object, not a string"),
        ('{"a":18446744073709551616}', "beyond 64 bits"),
        ('{"a":1e999}', "not valid JSON"),
    ],
)
def test_what_cannot_be_carried_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why) as caught:
        parse_variables(text)
    assert caught.value.details == {"field": "variables"}


@pytest.mark.parametrize(
    ("args", "results", "variables"),
    [
        (b"[]", None, {}),
        (b'[{"a":1}]', None, {"a": 1}),
        (b'[{"a":1},2]', None, {"a": 1}),
        (b'["x",{"a":1}]', None, {"args": ["x", {"a": 1}]}),
        (b'[{"a":1,"b":1}]', b'{"s1":{"b":2},"s2":{"c":3}}', {"a": 1, "b": 2, "c": 3}),
        (b"[]", b'[{"a":1},7]', {"a": 1}),
    ],
)
def test_variables_are_arguments_under_results(
    args: bytes, results: bytes | None, variables: dict[str, object]
) -> None:
    assert variables_of(args, results) == variables


def test_those_that_are_named_are_chosen() -> None:
    assert chosen({"a": 1, "b": 2}, ()) == {"a": 1, "b": 2}
    assert chosen({"a": 1, "b": 2}, ("b", "none")) == {"b": 2}


@pytest.mark.parametrize(
    ("args", "merged"),
    [
        (b"[]", b'[{"b":2}]'),
        (b'[{"a":1,"b":1},7]', b'[{"a":1,"b":2},7]'),
        (b'["x"]', b'[{"args":["x"],"b":2}]'),
    ],
)
def test_variables_are_merged_into_the_arguments(args: bytes, merged: bytes) -> None:
    assert with_variables(StoredJob(job(), args, b"{}"), {"b": 2}).args == merged


def test_nothing_more_changes_nothing() -> None:
    stored = StoredJob(job(), b'["x"]', b"{}")
    assert merging({}) is None
    change = merging({"b": 2})
    assert change is not None
    assert change(stored) == with_variables(stored, {"b": 2})


def test_headers_stand_in_meta() -> None:
    assert headers_of(b'{"custom_headers":{"k":"v"}}') == {"k": "v"}
    assert headers_of(b'{"custom_headers":7}') == {}
    assert headers_of(b"{}") == {}
