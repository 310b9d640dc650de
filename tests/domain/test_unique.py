"""The unique policy in its canonical form."""

from typing import Any

import pytest

from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.unique import parse_unique


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
        ({"args_keys": ["user"]}, {"args_keys": ["user"]}),
        ({"args_keys": []}, {}),
        (
            {"keys": ["meta"], "meta_keys": ["tenant"]},
            {"keys": ["meta"], "meta_keys": ["tenant"]},
        ),
        ({"period": "PT1H"}, {"period": "PT3600S"}),
        ({"period_ms": 1500}, {"period": "PT1.5S"}),
        ({"states": ["active", "completed"]}, {"states": ["active", "completed"]}),
        ({"on_conflict": "ignore"}, {"on_conflict": "ignore"}),
        ({"on_conflict": "use_existing"}, {"on_conflict": "ignore"}),
        ({"on_conflict": "replace_except_schedule"}, {"on_conflict": "replace_except_schedule"}),
        ({"unknown": 1}, {}),
    ],
)
def test_policies(given: dict[str, Any], policy: dict[str, Any]) -> None:
    assert parse_unique(given) == {"keys": ["type"], "on_conflict": "reject", **policy}


def test_no_policy_is_none() -> None:
    assert parse_unique(None) is None


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        (5, "unique", "must be an object, not a number"),
        ({"keys": ["arg"]}, "unique.keys", 'did you mean "args"'),
        ({"keys": [5]}, "unique.keys", "non-empty strings"),
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
