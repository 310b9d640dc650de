"""Calls are made, and clauses bind, by rule."""

import pytest

from conformance.clauses import own_spec
from conformance.spec.facts import Call
from conformance.spec.parties import bound_by, callers

FETCH = Call("POST", "/ojs/v1/workers/fetch")


@pytest.mark.parametrize(
    ("call", "parties"),
    [
        (FETCH, {"workers"}),
        (Call("POST", "/ojs/v1/jobs/{id}/ack"), {"workers"}),
        (Call("PUT", "/ojs/v1/jobs/{id}/progress"), {"workers"}),
        (Call("GET", "/ojs/v1/jobs/{id}/progress"), {"producers"}),
        (Call("POST", "/ojs/v1/jobs"), {"producers"}),
        (Call("POST", "/v2/process-instances"), {"producers"}),
        (Call("POST", "/v2/jobs/activation"), {"workers"}),
        (Call("POST", "/v2/jobs/search"), {"operators"}),
        (Call("POST", "/ojs/v1/cron"), {"producers", "operators"}),
        (Call("GET", "/ojs/v1/workers"), {"operators"}),
        (Call("POST", "/ojs/v1/queues/{name}/pause"), {"operators"}),
        (Call("GET", "/ojs/manifest"), {"workers", "producers", "operators"}),
    ],
)
def test_callers(call: Call, parties: set[str]) -> None:
    assert callers(call) == parties


def test_clients_are_whoever_makes_the_calls_of_a_clause() -> None:
    clauses = own_spec().by_id()
    assert bound_by(clauses["OJS-FET-028"], [FETCH]) == {"workers"}
    assert bound_by(clauses["OJS-FET-028"], []) == {"workers", "producers", "operators"}
    assert bound_by(clauses["OJS-FET-033"], [FETCH]) == {"workers"}
    assert bound_by(clauses["OJS-FET-006"], [FETCH]) == {"servers"}
    assert bound_by(clauses["OJS-ADP-006"], []) == {"producers"}
