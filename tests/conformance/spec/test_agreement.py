"""Facts of clauses are read, and what the contract or the cases contradict is found."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from conformance.case import all_cases
from conformance.clauses import read_spec
from conformance.data_files import data_path
from conformance.spec.agreement import agreement_problems
from conformance.spec.facts import Bounds, Call, Status, facts_of
from conformance.verdicts.contract import Contract, own_contract

FETCH = Call("POST", "/ojs/v1/workers/fetch")


def contradicted(folder: Path, file: str, said: str, now: str) -> list[str]:
    """Return the problems of our own specification with one thing said otherwise."""
    spec = folder / "spec"
    shutil.copytree(data_path("spec"), spec)
    page = spec / file
    text = page.read_text(encoding="utf-8")
    assert text.count(said) == 1
    page.write_text(text.replace(said, now), encoding="utf-8")
    return list(agreement_problems(read_spec(spec), own_contract(), all_cases()))


@pytest.mark.parametrize(
    ("file", "said", "now", "problem"),
    [
        (
            "05-fetch.md",
            "`count` (1 to 1000, 1 by default)",
            "`count` (1 to 500, 1 by default)",
            "OJS-FET-029 says count is at least 1, at most 500, 1 by default; the contract says "
            "at least 1, at most 1000, 1 by default (#/components/schemas/FetchTerms/properties/",
        ),
        (
            "08-retry.md",
            "| `max_attempts` | 3 |",
            "| `max_attempts` | 5 |",
            "OJS-RET-001 says max_attempts is 5 by default; the contract says",
        ),
        (
            "06-settle.md",
            "`active` are refused with 409 (OJS-LIF-016)",
            "`active` are refused with 410 (OJS-LIF-016)",
            "OJS-SET-002 says 410, which none of its operations answers",
        ),
        (
            "06-settle.md",
            "than the holder are refused with 409.",
            "than the holder are refused with 413.",
            "OJS-SET-030 says 413, which no case of it looks for",
        ),
        (
            "04-enqueue.md",
            "with 422 `validation_error`, and the message",
            "with 422 `invalid_request`, and the message",
            "OJS-ENQ-034 says 422 invalid_request; the table of errors has 400",
        ),
        (
            "07-heartbeat-and-workers.md",
            "`visibility_timeout_ms`, the server's default, `jobs_extended`",
            "`visibility_timeout_ms`, the server's default, `jobs_renewed`",
            "OJS-WRK-008 names jobs_renewed, which neither its operations nor its cases have",
        ),
        (
            "17-jobs.md",
            "`POST /ojs/v1/jobs/{id}/activate`",
            "`POST /ojs/v1/jobs/{id}/start`",
            "names POST /ojs/v1/jobs/{id}/start, which the contract does not have (nearest: "
            "'POST /ojs/v1/jobs/{id}/ack')",
        ),
        (
            "13-errors.md",
            "| `duplicate` | 409 |",
            "| `duplicate` | 422 |",
            "OJS-ERR-002 has duplicate with 422; the contract has it with 409",
        ),
        (
            "03-http.md",
            "| `POST /ojs/v1/workers/beat` | `POST /ojs/v1/workers/heartbeat` |",
            "| `POST /ojs/v1/workers/beat` | `POST /ojs/v1/workers/fetch` |",
            "OJS-HTP-003: POST /ojs/v1/workers/beat is POST /ojs/v1/workers/fetch in its table",
        ),
    ],
    ids=[
        *("a bound", "a default", "a status", "a status of another clause", "a code", "a member"),
        *("a path", "the table of errors", "another spelling"),
    ],
)
def test_a_contradiction_is_found(
    tmp_path: Path, file: str, said: str, now: str, problem: str
) -> None:
    found = contradicted(tmp_path, file, said, now)
    assert any(problem in line for line in found), found
    assert found[0].startswith(file), found


def test_facts_are_read_out_of_a_sentence() -> None:
    facts = facts_of(
        "FETCH and `GET /ojs/v1/jobs?state=x` take `count` (1 to 1,000 jobs, 1 by default), and\n"
        "`tags` (at most 100); an empty one is 400 `invalid_request` within 200 ms, or 404."
    )
    assert facts.calls == (Call("GET", "/ojs/v1/jobs"), FETCH)
    assert facts.statuses == (Status(400, "invalid_request"), Status(404))
    assert facts.bounds == (Bounds("count", 1, 1000, "1"), Bounds("tags", None, 100))
    assert facts.names == ("count", "tags", "invalid_request")
    assert facts.unread == ()


def test_a_bound_that_cannot_be_read_is_told() -> None:
    assert facts_of("`count` (one to many) and `n` (seconds)").unread == ()
    assert facts_of("`count` (1 to 9, or so)").unread == ("`count` (1 to 9, or so)",)


def operation(members: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a path with one operation and these members of its request."""
    schema = {"type": "object", "properties": members}
    body = {"content": {"application/json": {"schema": schema}}}
    return {"post": {"requestBody": body, "responses": {"200": {"description": "Jobs."}}}}


def small(
    folder: Path, text: str, enqueue: dict[str, Any] | None = None, **fetch: Any
) -> list[str]:
    """Return the problems of a specification of one clause with a contract of two operations."""
    spec = folder / "spec"
    spec.mkdir(exist_ok=True)
    (spec / "05-fetch.md").write_text(f"# 05\n\n{text}\n")
    paths = {FETCH.path: operation(fetch), "/ojs/v1/jobs": operation(enqueue or {})}
    contract = Contract({"openapi": "3.1.0", "paths": paths})
    return list(agreement_problems(read_spec(spec), contract, []))


CLAUSE = "**OJS-FET-001** (must, server; core) FETCH takes"


def test_bounds_hold_for_any_of_several_forms(tmp_path: Path) -> None:
    count = {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "integer", "maximum": 7}]}
    assert small(tmp_path, f"{CLAUSE} `count` (at most 7).", count=count) == []


def test_a_member_that_is_bounded_nowhere_is_told(tmp_path: Path) -> None:
    (problem,) = small(tmp_path, f"{CLAUSE} `count` (at most 7).", count={"type": "integer"})
    assert problem == ("05-fetch.md:3: OJS-FET-001 bounds count, which the contract does not bound")


def test_an_operation_that_a_clause_names_bounds_the_member_itself(tmp_path: Path) -> None:
    text = f"{CLAUSE} `count` (at most 7), as `POST /ojs/v1/jobs` does."
    bounded, free = {"type": "integer", "maximum": 7}, {"type": "integer"}
    assert small(tmp_path, text, enqueue={"count": bounded}, count=bounded) == []
    (problem,) = small(tmp_path, text, enqueue={"count": free}, count=bounded)
    assert problem.endswith("bounds count, which POST /ojs/v1/jobs does not bound")


def test_names_that_the_contract_lacks_can_be_listed(tmp_path: Path) -> None:
    listed = "Not in `openapi.yaml`: `elsewhere`, `unused`.\n\n"
    assert small(tmp_path, f"{listed}{CLAUSE} `elsewhere`.") == [
        "05-fetch.md lists the name unused, which it does not use"
    ]
