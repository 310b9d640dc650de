"""Tests of the tools for authors: clauses read, holes, disagreements and changes found."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.case import ServerCase, WorkerCase, all_cases
from conformance.clauses import SpecError, own_spec, read_spec
from conformance.commands.cli import main
from conformance.play.stage import Stage
from conformance.play.worker_stage import WorkerStage
from conformance.spec.check import check_lines
from conformance.spec.coverage import coverage, coverage_lines
from conformance.verdicts.contract import Contract, own_contract

README = "| `core` | x |\n"
CLAUSE = "**OJS-ENV-001** (must, server; core) A job has an id."


def tree(folder: Path, text: str = CLAUSE, **files: str) -> Path:
    spec = folder / "spec"
    spec.mkdir(exist_ok=True, parents=True)
    (spec / "README.md").write_text(README)
    (spec / "decisions.md").write_text("| 7 | a | b | c | d |\n")
    (spec / "01-envelope.md").write_text(f"# 01\n\n{text}\n")
    for name, content in files.items():
        (spec / f"{name}.md").write_text(content)
    return spec


async def nothing(stage: Stage) -> None:
    """A case that calls nothing."""


async def no_worker(stage: WorkerStage) -> None:
    """A case that calls nothing."""


async def strange(stage: Stage) -> None:
    """A case whose call is not in the contract."""
    await stage.get("jobs/x/nothing")
    await stage.delete("jobs")


def own(*clauses: str, play: Any = nothing) -> ServerCase:
    return ServerCase(id="t.x", suite="t", title="x", clauses=clauses, play=play, path="t.py")


def problems(spec: Path, cases: Sequence[ServerCase] = (own("OJS-ENV-001"),)) -> list[str]:
    empty = Contract({"openapi": "3.1.0", "paths": {"/ojs/v1/jobs": {"get": {"responses": {}}}}})
    return check_lines(read_spec(spec), empty, cases, {})


def test_our_own_specification_is_in_order() -> None:
    lines = check_lines(own_spec(), own_contract(), all_cases())
    assert lines == []


def test_clauses_are_read_whole(tmp_path: Path) -> None:
    head = "**OJS-ENV-002** (should, client; core, decision 7; 5 s,\nnot here)"
    text = f"{head} Two\nlines `here`.\n\nNo more."
    (clause,) = read_spec(tree(tmp_path, text)).clauses
    assert (clause.id, clause.strength, clause.side) == ("OJS-ENV-002", "should", "client")
    assert clause.sources == ("core", "decision 7")
    assert clause.marks == ("5 s", "not here")
    assert (clause.summary, clause.line) == ("Two lines here.", 3)
    assert not clause.binds_servers


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (CLAUSE + "\n\n" + CLAUSE, "OJS-ENV-001 is used 2 times"),
        (
            "**OJS-ENV-1** (must, server; core) X.",
            "01-envelope.md:3: OJS-ENV-1 is not written as a",
        ),
        (
            CLAUSE.replace("must", "shall"),
            "01-envelope.md:3: OJS-ENV-001: strength 'shall' (nearest: 'should')",
        ),
        (CLAUSE.replace("server;", "sever;"), "01-envelope.md:3: OJS-ENV-001: side 'sever'"),
        (
            CLAUSE.replace("core)", "cores)"),
            "01-envelope.md:3: OJS-ENV-001: unknown source 'cores' (nearest: 'core')",
        ),
        (
            CLAUSE.replace("core)", "decision 8)"),
            "01-envelope.md:3: OJS-ENV-001: decisions.md has no row 8",
        ),
        (
            CLAUSE.replace("001", "002") + "\n\n" + CLAUSE,
            "01-envelope.md:5: OJS-ENV-001 comes after OJS-ENV-002; ids rise within a file",
        ),
        (
            CLAUSE + "\n\n" + CLAUSE.replace("ENV-001", "LIF-002"),
            "01-envelope.md:5: OJS-LIF-002: the clauses of this file begin with OJS-ENV",
        ),
        (CLAUSE + " As OJS-ENV-009 says.", "01-envelope.md names OJS-ENV-009, which is no clause"),
    ],
)
def test_what_is_not_in_order(tmp_path: Path, text: str, problem: str) -> None:
    found = problems(tree(tmp_path, text))
    assert any(line.startswith(problem) for line in found), found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            CLAUSE.replace("core)", "core; at most 5 s)") + " It takes at least 5 s.",
            'is marked "at most 5 s", and its text says "at least 5 s"',
        ),
        (CLAUSE + " It takes 5 s.", 'says "5 s", and has no mark of it'),
        (CLAUSE.replace("core)", "core; not shown)"), 'is marked "not shown", which its text'),
        (
            CLAUSE + " See OJS-ENV-002 on pages.\n\n" + CLAUSE.replace("001", "002"),
            "refers to OJS-ENV-002 on pages, which is not a word of it",
        ),
        (
            CLAUSE + " The refusals of OJS-ENV-002 are 400.\n\n" + CLAUSE.replace("001", "002"),
            "says what OJS-ENV-002 refuses, which refuses nothing",
        ),
    ],
)
def test_meaning_is_compared(tmp_path: Path, text: str, problem: str) -> None:
    found = problems(tree(tmp_path, text), [own("OJS-ENV-001", "OJS-ENV-002")])
    assert any(problem in line for line in found), found


def test_a_sound_specification_has_no_problems(tmp_path: Path) -> None:
    assert problems(tree(tmp_path)) == []


def test_cases_are_held_to_clauses_and_contract(tmp_path: Path) -> None:
    spec = tree(tmp_path)
    assert problems(spec, []) == ["01-envelope.md:3: OJS-ENV-001 has no case"]
    assert problems(spec, [own("OJS-ENV-001", "OJS-ENV-01")]) == [
        "case t.x names OJS-ENV-01, which is no clause (nearest: 'OJS-ENV-001')"
    ]
    assert problems(spec, [own("OJS-ENV-001", play=strange)]) == [
        "case t.x calls /ojs/v1/jobs/x/nothing, which the contract does not have",
        "case t.x calls DELETE /ojs/v1/jobs; the contract has no such operation",
    ]


def test_examples_are_held_to_their_schemas(tmp_path: Path) -> None:
    paths: dict[str, Any] = {
        "/a": {
            "get": {
                "parameters": [
                    {"name": "n", "in": "query", "schema": {"type": "integer"}, "example": "x"}
                ],
                "responses": {
                    "200": {
                        "content": {
                            "application/json": {
                                "schema": {"$ref": "#/components/schemas/Job"},
                                "examples": {"odd": {"value": {"id": 7}}},
                            }
                        }
                    }
                },
            }
        }
    }
    job = {"type": "object", "properties": {"id": {"type": "string"}}, "examples": [{"id": 8}]}
    document = {"openapi": "3.1.0", "paths": paths, "components": {"schemas": {"Job": job}}}
    spec, cases = read_spec(tree(tmp_path)), [own("OJS-ENV-001")]
    told = check_lines(spec, Contract(document), cases, {})
    assert [line.partition(" does not")[0] for line in told] == [
        "openapi: #/paths/~1a/get/parameters/0/example",
        "openapi: #/paths/~1a/get/responses/200/content/application~1json/examples/odd",
        "openapi: #/components/schemas/Job/examples/0",
    ]
    assert told[1].endswith("at /id: 7 is not of type 'string'")
    document["components"] = {"schemas": {"Job": {"type": "nonsense"}}}
    paths["/a"]["get"]["responses"]["200"] = {"$ref": "#/components/responses/Gone"}
    told = check_lines(spec, Contract(document), cases, {})
    assert told == ["openapi: #/components/responses/Gone leads nowhere"]


def test_coverage_tells_holes_and_what_cannot_be_seen(tmp_path: Path) -> None:
    more = CLAUSE.replace("001", "002"), CLAUSE.replace("001", "003")
    spec = read_spec(tree(tmp_path, "\n\n".join((CLAUSE, *more))))
    unseen = {"OJS-ENV-002": "it takes a day", "OJS-ENV-001": "wrongly listed"}
    found = coverage(spec, [own("OJS-ENV-001")], unseen)
    assert list(coverage_lines(spec, found)) == [
        "OJS-ENV-001  t.x",
        "OJS-ENV-002  (not visible from outside: it takes a day)",
        "OJS-ENV-003  HOLE",
        "",
        "01-envelope.md:7: OJS-ENV-003 has no case: A job has an id.",
        "OJS-ENV-001 is listed as not visible from outside, and has a case",
        "3 clauses bind servers: 1 have cases, 2 cannot be seen from outside, 1 are holes",
        "0 clauses bind workers: 0 have cases, 0 cannot be seen from outside, 0 are holes",
        "0 clauses bind adapters: 0 have cases, 0 cannot be seen from outside, 0 are holes",
    ]


def test_what_binds_workers_is_shown_by_cases_of_workers_alone(tmp_path: Path) -> None:
    must = CLAUSE.replace("server", "worker")
    should = must.replace("001", "002").replace("must", "should")
    spec = read_spec(tree(tmp_path, f"{must}\n\n{should}"))
    assert [clause.id for clause in coverage(spec, [], {}).holes] == ["OJS-ENV-001"]
    assert not coverage(spec, [], {"OJS-ENV-001": "it takes a day"}).holes
    found = coverage(spec, [own("OJS-ENV-001")], {})
    assert found.problems == ["case t.x is played with a server; OJS-ENV-001 binds workers"]
    assert [clause.id for clause in found.holes] == ["OJS-ENV-001"]
    judged = WorkerCase(
        id="w.x", suite="w", title="x", clauses=("OJS-ENV-001",), play=no_worker, path="w.py"
    )
    found = coverage(spec, [judged], {})
    assert (found.holes, found.problems, found.cases) == ([], [], {"OJS-ENV-001": ["w.x"]})
    assert list(coverage_lines(spec, found))[-2].startswith("1 clauses bind workers: 1 have cases")


def test_diff_tells_what_changed_and_which_cases_it_touches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = "**OJS-ENV-004** (must, server; core) Types are words."
    tree(tmp_path / "old", kept + "\n\n" + CLAUSE.replace("001", "098"))
    tree(tmp_path / "new", kept.replace("must", "should") + "\n\n" + CLAUSE.replace("001", "099"))
    before = "openapi: 3.1.0\npaths: {/a: {get: {responses: {200: {}}}}}"
    (tmp_path / "old" / "openapi.yaml").write_text(before)
    after = "openapi: 3.1.0\npaths: {/a: {get: {responses: {201: {}}}}, /b: {put: {}}}"
    (tmp_path / "new" / "openapi.yaml").write_text(after)
    assert main(["spec", "diff", str(tmp_path / "old"), str(tmp_path / "new")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "clauses: 1 new, 1 dropped, 1 changed",
        "operations: 1 changed, 1 new",
        "breaks servers: 3 changes (OJS-ENV-099, GET /a, PUT /b)",
        "breaks workers: 0 changes",
        "breaks producers: 0 changes",
        "breaks operators: 1 changes (GET /a)",
        "touches 2 operations and 1 cases",
        "breaks nobody: 2 changes",
        "",
        "operations of the contract that changed:",
        "GET /a: itself; breaks servers, operators",
        "PUT /b: itself; breaks servers",
        "",
        "new: OJS-ENV-099 (must, server) A job has an id.",
        "    breaks: servers",
        "dropped: OJS-ENV-098 (must, server) A job has an id.",
        "changed: OJS-ENV-004",
        "    was must, server; is should, server",
        "    cases: envelope.job_types",
        "changed: GET /a",
        "    answers 200 no more",
        "    now also answers 201",
        "    breaks: operators, servers",
        "new: PUT /b",
        "    breaks: servers",
    ]


def test_the_commands_and_their_misuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tree(tmp_path)
    assert main(["coverage", "--spec", str(spec)]) == 1
    assert main(["spec", "check", "--spec", str(spec)]) == 1
    assert main(["spec", "diff", str(spec), str(spec)]) == 0
    assert capsys.readouterr().out.endswith("nothing changed\n")
    for arguments, told in (
        (["coverage", "--spec", "/nowhere"], "no such folder: /nowhere"),
        (["spec", "check", "--openapi", "/nowhere.yaml"], "cannot read /nowhere.yaml"),
        (["spec", "diff", str(tmp_path), "/nowhere"], "no such folder: /nowhere"),
    ):
        assert main(arguments) == 2
        assert told in capsys.readouterr().err
    with pytest.raises(SpecError, match="has no file of clauses"):
        read_spec(tmp_path)
