"""Tests of the command `worker`: choice of cases, reports and output, hopeless workers too."""

import shlex
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from conformance.commands.cli import main
from tests.conformance.runs.test_worker_runner import PLAIN
from tests.conformance.unpack import unpacked

QUICK = ["worker", "--time-scale", "0.1", "--jobs", "4"]
ONE = [*QUICK, "--case", "starting.first_beat"]


def python(script: str) -> list[str]:
    return ["--", sys.executable, "-I", "-c", script]


def test_reports_are_those_of_servers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--case", "doing.the_result", "--case", "OJS-WPR-019"]
    faulty = ["--", *PLAIN, "--fault", "garbles_results"]
    code = main([*QUICK, *chosen, "--report-dir", str(tmp_path), *faulty])
    out = capsys.readouterr().out
    assert code == 1
    assert "✓ doing.an_unknown_type" in out
    assert "✗ doing.the_result An ACK carries what the handler returned.: fail" in out
    assert "\n2 cases: 1 pass, 1 fail\n" in out
    report = msgspec.json.decode((tmp_path / "report.json").read_bytes())
    assert (report["mode"], report["target"]) == ("worker", shlex.join(faulty[1:]))
    assert report["clauses"] == {"OJS-WPR-045": "fail", "OJS-WPR-019": "pass"}
    failed = next(case for case in report["cases"] if case["verdict"] == "fail")
    at = failed["failures"][0]["exchange"]
    assert failed["exchanges"][at]["url"].endswith("/ojs/v1/workers/ack")
    suites = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [suite.get("failures") for suite in suites] == ["1"]
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "worker/doing" not in page  # the suite is told by the case's name
    (failure,) = unpacked(page)["cases"]["doing.the_result"]["failures"]
    assert "/ojs/v1/workers/ack" in failure["request"]
    # A request to a server that is gone cannot be sent again.
    assert "again" not in failure
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "badge.svg",
        "index.html",
        "junit.xml",
        "report.json",
        "report.sarif",
        "summary.md",
    ]


def test_selectors_choose_cases(capsys: pytest.CaptureFixture[str]) -> None:
    def listed(*selectors: str) -> list[str]:
        assert main(["worker", "--list", *selectors]) == 0
        return capsys.readouterr().out.split()

    everything = listed()
    assert listed("--suite", "worker") == everything
    assert listed("--suite", "beats") == listed("--suite", "worker/beats")
    assert listed("--case", "OJS-WPR-033") == ["signals.sigint"]
    must = listed("--must-only")
    assert set(must) < set(everything)
    assert "telling.retry_after" not in must
    assert "signals.sigterm" in must


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["worker"], "say how to start the worker"),
        (["worker", "--"], "say how to start the worker"),
        (["worker", "--case", "signals.sigtrem", "--", "x"], "(nearest: 'signals.sigterm')"),
        (["worker", "--suite", "signal", "--", "x"], "(nearest: 'signals')"),
        (
            ["worker", "--must-only", "--case", "telling.retry_after", "--", "x"],
            "no case fits all of the given selectors",
        ),
        (["worker", "--openapi", "/no/such", "--", "x"], "cannot read /no/such"),
        (["worker", "--json", "/no/such/file", "--", "x"], "cannot write /no/such/file"),
    ],
)
def test_misuse_is_told(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--time-scale", "2"], "'2' is no number from 0.02 to 1"),
        (["--time-scale", "nan"], "'nan' is no number"),
        (["--jobs", "0"], "'0' is no number from 1"),
        (["ls"], "unrecognized arguments: ls"),
    ],
)
def test_wrong_options_are_told(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["worker", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["--", "/no/such/worker"], "cannot run '/no/such/worker': No such file or directory"),
        (["--", "/"], "cannot run '/': Permission denied"),
        (python("print('no such queue'); raise SystemExit(7)"), "ended with 7 before any request"),
        (python("import time; time.sleep(600)"), "sent no request within 1 s"),
        (python("while True: print('y' * 100_000)"), "sent no request within 1 s"),
        (
            python(
                "import os, socket, time\n"
                "port = int(os.environ['OJS_URL'].rpartition(':')[2])\n"
                "socket.create_connection(('127.0.0.1', port)).sendall(b'\\x16\\x03 hello')\n"
                "time.sleep(600)"
            ),
            "it said what is no HTTP: b'\\x16\\x03 hello'",
        ),
    ],
)
def test_a_hopeless_worker_is_an_error_with_its_reason(
    command: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    code = main([*ONE, "--start-timeout", "1", "--json", str(report), *command])
    out = capsys.readouterr()
    assert code == 1
    assert told in out.out
    assert "Traceback" not in out.out + out.err
    assert len(out.out) < 10_000
    (case,) = msgspec.json.decode(report.read_bytes())["cases"]
    assert case["verdict"] == "error"


def test_what_a_worker_printed_last_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    main([*ONE, *python("print('no such queue'); raise SystemExit(7)")])
    assert "\n    no such queue" in capsys.readouterr().out


def test_a_worker_that_never_speaks_is_not_tried_for_ever(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main([*QUICK[:-1], "1", *python("raise SystemExit(3)")])
    out = capsys.readouterr().out
    assert code == 1
    assert (
        out.count("ended with 3 before any request") == 2 * 3 + 1
    )  # as it comes, at the end, and as a cause
    assert "not run: the worker sent nothing in the 3 cases before" in out
