"""Changes of the specification are told, with what they touch and whom they break."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from conformance.clauses import own_spec, read_spec
from conformance.commands.cli import main
from conformance.commands.spec import diff_command
from conformance.data_files import data_path
from conformance.report.document import ADAPTER_MODE, WORKER_MODE, build_report
from conformance.spec.diff import Change, clause_changes, contract_changes
from conformance.spec.facts import Call
from conformance.verdicts.contract import Contract, own_contract
from conformance.verdicts.exchanges import Exchange
from conformance.verdicts.result import CaseResult, Verdict

FETCH = Call("POST", "/ojs/v1/workers/fetch")
SCHEMAS = "components", "schemas"
CASE = "fetch.queues_are_named"


def clause_change(folder: Path, file: str, said: str, now: str) -> Change:
    """Return the one change between our specification and a version that says something else."""
    spec = folder / "spec"
    shutil.copytree(data_path("spec"), spec)
    page = spec / file
    text = page.read_text(encoding="utf-8")
    assert text.count(said) == 1
    page.write_text(text.replace(said, now), encoding="utf-8")
    (change,) = clause_changes(own_spec(), read_spec(spec), own_contract())
    return change


def contract_change(change: Callable[[dict[str, Any]], object]) -> Change:
    """Return the one change between our contract and a changed copy."""
    document = msgspec.json.decode(msgspec.json.encode(own_contract().document))
    change(document)
    (found,) = contract_changes(own_contract(), Contract(document), own_spec())
    return found


def at(document: dict[str, Any], *path: str) -> dict[str, Any]:
    """Return the object at a place of a document."""
    for part in path:
        document = document[part]
    return document


def test_a_row_of_a_table(tmp_path: Path) -> None:
    change = clause_change(
        tmp_path, "08-retry.md", "| `max_attempts` | 3 |", "| `max_attempts` | 5 |"
    )
    assert change.head == "changed: OJS-RET-001"
    assert change.lines == (
        "- | `max_attempts` | 3 | integer, 0 or more |",
        "+ | `max_attempts` | 5 | integer, 0 or more |",
    )
    assert change.breaks == {"servers"}


def test_a_weaker_clause_breaks_nobody(tmp_path: Path) -> None:
    change = clause_change(
        tmp_path, "05-fetch.md", "**OJS-FET-006** (must,", "**OJS-FET-006** (should,"
    )
    assert change.lines == ("was must, server; is should, server",)
    assert not change.breaks


def test_a_clause_of_workers(tmp_path: Path) -> None:
    change = clause_change(
        tmp_path, "05-fetch.md", "no more jobs than it has free places", "one job a time"
    )
    assert change.clauses == {"OJS-FET-033"}
    assert FETCH in change.calls
    assert change.breaks == {"workers"}


def test_another_status_breaks_whoever_looks_for_the_old_one(tmp_path: Path) -> None:
    change = clause_change(
        tmp_path,
        "06-settle.md",
        "than the holder are refused with 409.",
        "than the holder are refused with 410.",
    )
    assert change.breaks == {"servers", "workers"}


def test_a_decision(tmp_path: Path) -> None:
    change = clause_change(
        tmp_path, "decisions.md", "| 1800 s; FETCH before job before server;", "| 30 s;"
    )
    assert change.head == "changed: decision 3"
    assert {"OJS-FET-031", "OJS-VIS-035"} <= change.clauses


def test_a_narrower_request_breaks_workers_and_servers() -> None:
    change = contract_change(
        lambda document: at(document, *SCHEMAS, "FetchTerms", "properties", "count").update(
            maximum=100
        )
    )
    assert change.head == "changed: schemas FetchTerms"
    assert change.lines == ("count: maximum 100 instead of 1000",)
    assert {FETCH, Call("POST", "/ojs/v1/workers/settle")} <= change.calls
    assert "OJS-FET-002" in change.clauses
    assert change.breaks == {"workers", "servers"}


def test_a_word_more_breaks_whoever_writes_or_reads_it() -> None:
    change = contract_change(
        lambda document: at(document, *SCHEMAS, "JobState")["enum"].append("paused")
    )
    assert change.lines == ("new word paused",)
    assert change.breaks == {"servers", "workers", "producers", "operators"}


def test_a_schema_that_stands_in_an_operation() -> None:
    path, method = "/ojs/v1/events", "get"

    def change(document: dict[str, Any]) -> None:
        parameters = at(document, "paths", path, method)["parameters"]
        next(each for each in parameters if each.get("name") == "limit")["schema"]["default"] = 50

    found = contract_change(change)
    assert found.head == "changed: GET /ojs/v1/events"
    assert found.lines == ("query limit: default 50 instead of 100",)
    assert found.breaks == {"servers", "producers", "operators"}


def test_a_new_operation_and_a_status() -> None:
    new = contract_change(
        lambda document: document["paths"].update(
            {"/ojs/v1/new": {"get": {"responses": {"200": {"description": "It."}}}}}
        )
    )
    assert new.head == "new: GET /ojs/v1/new"
    assert new.breaks == {"servers"}
    more = contract_change(
        lambda document: at(document, "paths", FETCH.path, "post", "responses").update(
            {"418": {"description": "It."}}
        )
    )
    assert more.lines == ("now also answers 418",)
    assert more.breaks == {"workers"}


def test_a_member_that_is_gone() -> None:
    change = contract_change(
        lambda document: at(document, *SCHEMAS, "BeatAnswer", "properties").pop("jobs_lost")
    )
    assert "jobs_lost: gone member" in change.lines
    assert change.breaks >= {"workers"}


def proposal(folder: Path, *, count: int, status: str) -> tuple[Path, Path]:
    """Return two versions of a small specification: a FETCH of at most so many jobs."""
    versions = folder / "old", folder / "new"
    for version, most, said in zip(versions, (1000, count), ("409", status), strict=True):
        (version / "spec").mkdir(parents=True)
        jobs = {"type": "object", "properties": {"n": {"type": "integer", "maximum": most}}}
        answer = {"description": "Jobs.", "content": {"application/json": {"schema": jobs}}}
        responses = {"200": answer, "409": {"description": "No."}, status: {"description": "No."}}
        paths = {FETCH.path: {"post": {"responses": responses}}}
        document = {"openapi": "3.1.0", "paths": paths}
        (version / "openapi.yaml").write_text(yaml.safe_dump(document))
        (version / "spec" / "05-fetch.md").write_text(
            f"**OJS-FET-001** (must, server; core) FETCH of a stranger is refused with {said}.\n"
        )
    return versions


def report(path: Path, *exchanges: Exchange, mode: str = "strict") -> Path:
    """Write the report of a backend that passed one case with these exchanges."""
    case = CaseResult(
        path="f.py",
        test_id=CASE,
        clauses=("OJS-FET-001",),
        verdict=Verdict.PASS,
        exchanges=exchanges,
    )
    made = build_report(
        [case],
        target="http://there",
        run_at="2030-01-01T00:00:00Z",
        duration_ms=1,
        mode=mode,
        manifest={"implementation": {"name": "ojs-elsewhere"}},
        whole=True,
    )
    path.write_bytes(msgspec.json.encode(made))
    return path


def fetched(status: int, body: str) -> Exchange:
    """Return a recorded FETCH."""
    return Exchange(
        method="POST",
        url=f"http://there{FETCH.path}",
        request_body="{}",
        status=status,
        headers={"content-type": "application/json"},
        body=body,
    )


def test_backends_that_would_fail_are_told_from_recorded_exchanges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = proposal(tmp_path, count=5, status="404")
    bad = report(tmp_path / "bad.json", fetched(200, '{"n": 7}'), fetched(409, ""))
    good = report(tmp_path / "good.json", fetched(200, '{"n": 3}'), fetched(404, ""))
    assert diff_command(str(old), str(new), [bad, good]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "    ojs-elsewhere (bad.json): passes 1 of these 1 cases" in lines
    at_proposal = lines.index(
        "ojs-elsewhere (bad.json): would fail in 2 ways (1 of 1 cases have exchanges)"
    )
    assert lines[at_proposal + 1 :] == [
        "    POST /ojs/v1/workers/fetch -> 200 at /n: 7 is greater than the maximum of 5",
        f"        cases: {CASE}",
        "    OJS-FET-001: answers 409 where 404 is demanded",
        f"        cases: {CASE}",
        "ojs-elsewhere (good.json): would fail in 0 ways (1 of 1 cases have exchanges)",
    ]


def git(*arguments: str) -> None:
    """Run git in this folder, as somebody."""
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


def test_workers_are_provenance_their_requests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = proposal(tmp_path, count=1000, status="404")
    for version, most in ((old, 1000), (new, 5)):
        document = yaml.safe_load((version / "openapi.yaml").read_text())
        count = {"type": "object", "properties": {"count": {"type": "integer", "maximum": most}}}
        body = {"content": {"application/openjobspec+json": {"schema": count}}}
        document["paths"][FETCH.path]["post"]["requestBody"] = body
        (version / "openapi.yaml").write_text(yaml.safe_dump(document))
    send_fetch = msgspec.structs.replace(fetched(200, '{"n": 7}'), request_body='{"count": 10}')
    worker = report(tmp_path / "worker.json", send_fetch, mode=WORKER_MODE)
    assert diff_command(str(old), str(new), [worker]) == 0
    told = "    POST /ojs/v1/workers/fetch at /count: 10 is greater than the maximum of 5"
    assert told in capsys.readouterr().out.splitlines()


def test_adapters_are_not_blamed_for_answers_of_their_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = proposal(tmp_path, count=5, status="404")
    adapter = report(tmp_path / "adapter.json", fetched(200, '{"n": 7}'), mode=ADAPTER_MODE)
    assert diff_command(str(old), str(new), [adapter]) == 0
    told = "ojs-elsewhere (adapter.json): would fail in 0 ways (0 of 1 cases have exchanges)"
    assert told in capsys.readouterr().out.splitlines()


def test_versions_are_folders_or_revisions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (old, _) = proposal(tmp_path, count=5, status="404")
    monkeypatch.chdir(old)
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    assert main(["spec", "diff", str(tmp_path / "nowhere"), str(data_path("spec"))]) == 2
    assert "nowhere, and git knows no such revision here" in capsys.readouterr().err
    assert main(["spec", "diff", "HEAD", str(old)]) == 0
    assert capsys.readouterr().out == "nothing changed\n"
    assert main(["spec", "diff", "HEAD", "HEAD", "--report", "nowhere.json"]) == 2
    assert "cannot read nowhere.json" in capsys.readouterr().err
