"""The command line: output, exit codes and misuse."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from conformance.commands.cli import main
from tests.conformance.cases import step
from tests.conformance.fake_server import FakeServer, Reply, Request

URL = ["run", "--url", "http://server", "--contract", "off", "--jobs", "1"]
LOOK = "GET /ojs/manifest"


def plant(folder: Path, test_id: str, path: str, **keys: Any) -> None:
    """Write a case that wants a 200 from the path."""
    steps = [step(path=path, assertions={"status": 200})]
    content = {"test_id": test_id, "name": "made-up", "steps": steps, **keys}
    (folder / f"{test_id}.json").write_bytes(msgspec.json.encode(content))


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder with a case that passes and one of level 1 that fails."""
    folder = tmp_path / "suite"
    folder.mkdir()
    plant(folder, "L0-A-001", "/good")
    plant(folder, "L1-A-001", "/bad", level=1)
    return folder


@pytest.fixture
def server() -> FakeServer:
    """A server with one good and one bad path."""
    return FakeServer({"GET /good": Reply(), "GET /bad": Reply(503), "POST /reset": Reply(204)})


def test_a_run_with_a_failure(
    suite: Path, server: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([*URL, "--suites", str(suite)], transport=server.transport())
    lines = capsys.readouterr().out.splitlines()
    assert code == 1
    assert lines[0].startswith("✓ L0-A-001 made-up (")
    assert lines[1:] == [
        "✗ L1-A-001 made-up: fail",
        "",
        "the manifest cannot be read, so nothing is left out for a missing claim",
        "",
        "suite: 1 pass, 1 fail",
        "    ✗ L1-A-001 made-up",
        f"        ({suite / 'L1-A-001.json'})",
        "        [s1] status",
        "            expected: 200",
        "            actual:   503",
        "",
        "2 cases: 1 pass, 1 fail",
    ]


def test_an_interrupted_run_has_its_report_so_far(
    tmp_path: Path, suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def interrupted(request: Request) -> Reply:
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()
        raise AssertionError

    server = FakeServer({"GET /good": Reply(), "GET /bad": interrupted})
    report = tmp_path / "report.json"
    arguments = [*URL, "--suites", str(suite), "--json", str(report)]
    assert main(arguments, transport=server.transport()) == 130
    assert capsys.readouterr().out.endswith("interrupted: 1 of 2 cases were played\n")
    data = msgspec.json.decode(report.read_bytes())
    assert (data["interrupted"], data["conformant"]) == (True, False)
    assert [case["test_id"] for case in data["cases"]] == ["L0-A-001"]


@pytest.mark.parametrize("choice", [["--level", "0"], ["--case", "L0-A-001"]])
def test_a_choice_of_cases_that_pass(suite: Path, server: FakeServer, choice: list[str]) -> None:
    code = main([*URL, "--suites", str(suite), *choice], transport=server.transport())
    assert code == 0
    assert server.lines == [LOOK, "GET /good"]


def test_skipped_and_defective_cases_do_not_fail_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(tmp_path, "T-1", "/x", deprecated=True)
    nack = step("POST", id="nack", body={"error": {"code": "e"}})
    look = step(id="look", assertions={"body": {"$.errors[0].type": "Timeout"}})
    content = {"test_id": "T-2", "steps": [nack, look]}
    (tmp_path / "T-2.json").write_bytes(msgspec.json.encode(content))
    server = FakeServer(
        {"POST /jobs": Reply(), "GET /jobs": Reply(json={"errors": [{"type": "e"}]})}
    )
    assert main([*URL, "--suites", str(tmp_path)], transport=server.transport()) == 0
    assert capsys.readouterr().out.endswith("2 cases: 1 skipped, 1 defective\n")


def test_reset_url_is_posted_before_each_case(suite: Path, server: FakeServer) -> None:
    main([*URL, "--suites", str(suite), "--reset-url", "/reset"], transport=server.transport())
    assert server.lines == [LOOK, "POST /reset", "GET /good", "POST /reset", "GET /bad"]


def test_several_suites_and_the_json_report(
    suite: Path, tmp_path: Path, server: FakeServer
) -> None:
    other, report = tmp_path / "other", tmp_path / "report.json"
    other.mkdir()
    plant(other, "L0-A-000", "/good")
    arguments = [*URL, "--suites", str(suite), str(other), "--json", str(report)]
    assert main(arguments, transport=server.transport()) == 1
    data = msgspec.json.decode(report.read_bytes())
    assert data["target"] == "http://server"
    assert data["run_at"].endswith("Z")
    assert data["results"]["total"] == 3
    assert [case["test_id"] for case in data["cases"]] == ["L0-A-000", "L0-A-001", "L1-A-001"]
    assert data["cases"][2]["failures"] == [
        {
            "step_id": "s1",
            "field": "status",
            "at": "",
            "expected": "200",
            "actual": "503",
            "absent": False,
            "exchange": 0,
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--case", "L0-A-01"], "no case has the id 'L0-A-01' (nearest: 'L0-A-001')"),
        (["--suite", "sute"], "no suite is called 'sute' (nearest: 'suite')"),
        (
            ["--level", "1", "--case", "L0-A-001"],
            "no case fits all of the given selectors",
        ),
        (["--openapi", "/nowhere.yaml"], "cannot read /nowhere.yaml: No such file or directory"),
        (
            ["--own", "--compat"],
            "--compat judges published cases: name them with --suites, and no others",
        ),
        (
            ["--callback-port", "9000"],
            "--callback-port says where to listen for what comes to --callback-url",
        ),
        (["--level", "4"], "no case has level 4; levels found: 0, 1"),
        (["--suites", "/nowhere/at/all"], "no such file or folder: /nowhere/at/all"),
        (
            ["--json", "/nowhere/at/all/report.json"],
            "cannot write /nowhere/at/all/report.json: No such file or directory",
        ),
    ],
)
def test_misuse_is_told_and_nothing_runs(
    suite: Path,
    server: FakeServer,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    code = main([*URL, "--suites", str(suite), *arguments], transport=server.transport())
    assert code == 2
    assert capsys.readouterr().err == f"ojs-conformance: {message}\n"
    assert server.requests == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: command"),
        ([*URL, "--fast"], "unrecognized arguments: --fast"),
        ([*URL, "--level", "high"], "argument --level: invalid int value: 'high'"),
        (
            ["run", "--url", "server:8080"],
            "argument --url: 'server:8080' must look like http://localhost:8080",
        ),
        (
            ["run", "--url", "http://a:b:c"],
            "argument --url: 'http://a:b:c' is no URL: Invalid port: 'b:c'",
        ),
    ],
)
def test_an_unknown_command_line_exits_with_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {message}\n")


def test_an_unreachable_target_is_an_error_per_case(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    arguments = [*URL, "--suites", str(suite), "--reset-url", "/reset"]
    assert main(arguments, transport=httpx.MockTransport(refuse)) == 1
    assert capsys.readouterr().out.endswith("2 cases: 2 error\n")


def test_the_module_runs_and_speaks_to_any_terminal(suite: Path) -> None:
    (suite / "broken.json").write_text("{")
    unreachable = ["run", "--url", "http://127.0.0.1:1", "--suites", str(suite)]
    run = subprocess.run(
        [sys.executable, "-m", "conformance", *unreachable],
        capture_output=True,
        text=True,
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).parents[3])},
        timeout=60,
        check=False,
    )
    assert run.returncode == 1, run.stderr
    assert run.stderr == ""
    assert run.stdout.splitlines()[-1] == "3 cases: 3 error"
    assert "server unreachable: ConnectError" in run.stdout
    assert "error: file is not JSON" in run.stdout


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = [sys.executable, "-m", "conformance", "spec", "data"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(10)
        running.stdout.close()
        told = running.stderr.read()
        assert (running.wait(60), told) == (1, b"")
