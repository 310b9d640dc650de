"""Canary routing: checks of the shares, and the version of each job."""

from collections import Counter
from typing import Any

import pytest

from ojs_server.domain.errors import InvalidRequest, OjsError, Unsupported, ValidationError
from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.domain.jobs.unique import in_queue
from ojs_server.domain.jobs.validate import Draft, parse_draft
from ojs_server.domain.jobs.version_routing import MAX_RULES, parse_routing, routed
from ojs_server.domain.version import Version
from ojs_wire.codec import decode
from tests.domain.sample_jobs import made

CANARY: dict[str, Any] = {"rules": [{"version": 1, "weight": 95}, {"version": "2.1", "weight": 5}]}
ROUTINGS = {"mail": parse_routing(CANARY)}


def a_draft(**given: Any) -> Draft:
    return parse_draft({"type": "mail", "args": [], **given})


def test_each_version_gets_its_share_and_none_waits_long() -> None:
    schedulers = Schedulers()
    versions = [routed(ROUTINGS, schedulers, a_draft()).shape.version for _ in range(200)]
    assert Counter(versions) == {Version(1): 190, Version(2, 1): 10}
    for start in range(0, 200, 20):
        assert Version(2, 1) in versions[start : start + 20]


def test_a_share_without_weight_gets_nothing() -> None:
    rules = [{"version": 1, "weight": 0}, {"version": 2, "weight": 1}]
    routings = {"mail": parse_routing({"rules": rules})}
    schedulers = Schedulers()
    assert {routed(routings, schedulers, a_draft()).shape.version for _ in range(5)} == {Version(2)}


def test_a_job_with_a_version_and_one_of_another_type_stay_as_they_are() -> None:
    for draft in (a_draft(version=3), a_draft(type="other"), a_draft(type="mail@3")):
        assert routed(ROUTINGS, Schedulers(), draft) is draft


def test_a_routed_job_asks_for_its_version_and_says_that_it_was_given() -> None:
    runtime = {"ojs.ext_runtime": {"tags": ["gpu"]}}
    routings = {"mail": parse_routing({"rules": [{"version": "2.1", "weight": 1}]})}
    given = routed(routings, Schedulers(), a_draft(meta=runtime, custom=7))
    asked = a_draft(meta=runtime, version="2.1")
    assert given.demand == asked.demand
    spec = decode(given.shape.spec)
    assert (spec["version"], spec["version_routed"], spec["custom"]) == ("2.1", True, 7)


def test_equal_jobs_stay_equal_whichever_version_they_were_given() -> None:
    schedulers = Schedulers()
    first, second = (
        made(routed(ROUTINGS, schedulers, a_draft(unique={"keys": ["type"]}))) for _ in range(2)
    )
    assert decode(first.job.spec)["version"] != decode(second.job.spec)["version"]
    assert first.unique_key == second.unique_key
    assert in_queue(first, "other").unique_key == in_queue(second, "other").unique_key


@pytest.mark.parametrize(
    ("body", "field", "kind"),
    [
        ({}, "rules", InvalidRequest),
        ({"rules": {}}, "rules", InvalidRequest),
        ({"rules": []}, "rules", InvalidRequest),
        ({"rules": [{"version": n, "weight": 1} for n in range(MAX_RULES + 1)]}, "rules",
         InvalidRequest),
        ({"rules": [{"version": 1, "weight": 0}]}, "rules", InvalidRequest),
        ({"rules": [7]}, "rules[0]", InvalidRequest),
        ({"rules": [{"weight": 1}]}, "rules[0].version", InvalidRequest),
        ({"rules": [{"version": "new", "weight": 1}]}, "rules[0].version", InvalidRequest),
        ({"rules": [{"version": 1}]}, "rules[0].weight", InvalidRequest),
        ({"rules": [{"version": 1, "weight": -1}]}, "rules[0].weight", InvalidRequest),
        ({"rules": [{"version": 1, "weight": 1001}]}, "rules[0].weight", InvalidRequest),
        ({"rules": [{"version": 1, "weight": 1}, {"version": "1.0", "weight": 1}]},
         "rules[1].version", InvalidRequest),
        ({"rules": [{"version": 1, "weight": 1, "percent": 5}]}, "rules[0].percent",
         ValidationError),
        ({**CANARY, "rule": []}, "rule", ValidationError),
    ],
)  # fmt: skip
def test_a_wrong_routing_names_its_field(
    body: dict[str, Any], field: str, kind: type[OjsError]
) -> None:
    with pytest.raises(kind) as refused:
        parse_routing(body)
    assert refused.value.details is not None
    assert refused.value.details["field"] == field


def test_a_rollback_that_nobody_would_do_is_refused() -> None:
    with pytest.raises(Unsupported, match="failures are not counted by version"):
        parse_routing({**CANARY, "auto_rollback": {"error_rate_threshold": 0.1}})
    assert parse_routing({**CANARY, "auto_rollback": None}) == ROUTINGS["mail"]
