"""Names of tenants, and the names of their resources."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.errors import InvalidRequest, OjsError
from ojs_server.domain.jobs.validate import hash_of, parse_draft
from ojs_server.domain.tenants.tenant import (
    Tenant,
    parse_limits,
    parse_tenant,
    scoped,
    split_name,
    tenant_in,
    unscoped,
    with_tenant,
)

NAMES = st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9._:-]{0,10}", fullmatch=True)


@given(NAMES, NAMES, st.text(max_size=10), st.text(max_size=10))
def test_no_two_tenants_names_for_things_meet(a: str, b: str, first: str, second: str) -> None:
    assert (scoped(a, first) == scoped(b, second)) == ((a, first) == (b, second))
    assert unscoped(a, scoped(a, first)) == first
    assert split_name(scoped(a, b)) == (a, b)


def test_without_a_tenant_names_are_what_they_are() -> None:
    assert scoped(None, "q") == unscoped(None, "q") == "q"
    assert split_name("q") == (None, "q")
    meta = {"a": 1}
    assert with_tenant(meta, None) is meta
    assert tenant_in(meta) is None


@pytest.mark.parametrize("name", ["", "_default", "a/b", "a b", "ä", "a" * 256, 7, None])
def test_a_name_that_no_tenant_has_is_refused(name: object) -> None:
    with pytest.raises(InvalidRequest):
        parse_tenant("tenant", name)


def test_a_request_of_one_tenant_is_none_of_another() -> None:
    body = {"type": "t", "args": [], "id": "01a1f0c0-0000-7000-8000-000000000001"}
    drafts = [parse_draft(body, tenant=tenant) for tenant in (None, "a", "b")]
    assert len({draft.request_hash for draft in drafts}) == 3
    assert [draft.tenant for draft in drafts] == [None, "a", "b"]
    assert hash_of(body) == drafts[0].request_hash


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, Tenant()),
        ({"max_concurrency": 0, "fairness_weight": 3.0}, Tenant(0, fairness_weight=3)),
        ({"max_queue_depth": None, "priority_boost": 5}, Tenant(priority_boost=5)),
    ],
)
def test_limits_are_read(given: dict[str, Any], wanted: Tenant) -> None:
    assert parse_limits(given) == wanted
    assert parse_limits(wanted.as_wire()) == wanted


@pytest.mark.parametrize("given", [{"max": 1}, {"max_scheduled": True}, {"fairness_weight": 1001}])
def test_bad_limits_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(OjsError):
        parse_limits(given)


def test_weights_and_boosts_alone_limit_nothing() -> None:
    assert not Tenant(fairness_weight=3, priority_boost=1).limited
    assert Tenant(max_scheduled=0).limited
