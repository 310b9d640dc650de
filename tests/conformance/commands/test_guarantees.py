"""Tests of the command `guarantees`: honest backends keep all, each fault is convicted, and what
cannot be judged ends with the reason."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.commands.cli import main

PLAIN = (sys.executable, "-I", str(Path(__file__).parents[1] / "plain_backend.py"))
# A long lease: machines of any speed start again before it ends.
SHORT = (
    "--kills",
    "2",
    "--operations",
    "6",
    "--lease",
    "60",
    "--settle-timeout",
    "1",
    "--seed",
    "7",
)


def judged(
    report: Path, *options: str, fault: str = "none", claims: bool = True
) -> tuple[int, dict[str, Any]]:
    """Judge the plain backend; return the exit code and the report."""
    command = [*PLAIN, "--fault", fault, *(["--claims"] if claims else [])]
    code = main(["guarantees", *SHORT, "--json", str(report), *options, "--", *command])
    return code, msgspec.json.decode(report.read_bytes())


def verdicts(report: dict[str, Any]) -> dict[str, str]:
    return {each["requirement"]: each["verdict"] for each in report["requirements"]}


def test_an_honest_backend_keeps_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = tmp_path / "summary.md"
    code, report = judged(tmp_path / "report.json", "--markdown", str(summary))
    assert code == 0
    assert set(verdicts(report).values()) == {"kept"}
    assert report["violations"] == []
    assert (report["kills"], report["setting"]["seed"]) == ({"process": 2}, 7)
    out = capsys.readouterr().out
    assert out.startswith("operations and kills are chosen by --seed 7\nkill 1 process, call ")
    assert out.endswith("it holds what it claims\n")
    assert "| DR-001 | a job whose enqueue was answered survives" in summary.read_text()


@pytest.mark.parametrize(
    ("fault", "requirement"),
    [
        ("writes_later", "DR-001"),
        ("drops_leases", "DR-008"),
        ("reopens_completed", "DR-009"),
        ("hides_jobs", "DR-003"),
    ],
)
def test_each_fault_is_convicted(tmp_path: Path, fault: str, requirement: str) -> None:
    code, report = judged(tmp_path / "report.json", fault=fault)
    assert code == 1
    assert verdicts(report)[requirement] == "convicted"
    (first, *_) = [each for each in report["violations"] if requirement in each["requirements"]]
    assert first["kill"] > 0
    assert first["kind"] == "process"
    assert f"kill {first['kill']}" in first["answered"]


def test_a_fault_that_claims_nothing_is_described(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, report = judged(tmp_path / "report.json", fault="hides_jobs", claims=False)
    assert code == 0
    assert verdicts(report)["DR-003"] == "broken"
    assert verdicts(report)["DR-004"] == "undeclared"
    assert "it does not claim, and does not hold, DR-003" in capsys.readouterr().out


def test_a_run_goes_on_where_its_totals_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = ["--state", str(tmp_path / "state")]
    judged(tmp_path / "report.json", *state)
    code, report = judged(tmp_path / "report.json", *state, "--kills", "3")
    assert code == 0
    assert report["kills"] == {"process": 3}
    assert capsys.readouterr().out.count("\nkill ") == 3
    command = ["--", *PLAIN]
    assert main(["guarantees", *SHORT, *state, "--seed", "8", *command]) == 2
    assert "is of another run: its command is" in capsys.readouterr().err
    (tmp_path / "state").write_text("{}")
    assert main(["guarantees", *SHORT, *state, *command]) == 2
    assert "has no totals of guarantees" in capsys.readouterr().err


def test_disks_are_filled_and_clocks_are_set(tmp_path: Path) -> None:
    log = tmp_path / "log"
    options = [
        word
        for name, line in (("disk-full", "full"), ("disk-free", "free"), ("clock", "{seconds}"))
        for word in (f"--{name}", f"sh -c 'echo {line} >> {log}'")
    ]
    code, report = judged(tmp_path / "report.json", *options, "--kind", "disk", "--kind", "clock")
    assert code == 0
    assert report["kills"] == {"disk": 1, "clock": 1}
    full, free, seconds = log.read_text().split()
    assert (full, free) == ("full", "free")
    assert int(seconds) != 0


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("answers_without_jobs", "the backend answers no enqueue with a job that has an id"),
        ("never_answers", "the backend did not work within 5 s: no whole answer within 1 seconds"),
        ("never_comes_back", "after kill 1 (process) the backend did not work within 5 s: 500"),
        ("floods", "the backend did not work within 5 s"),
    ],
)
def test_a_backend_that_cannot_be_judged_ends_the_run(
    tmp_path: Path, fault: str, reason: str
) -> None:
    limits = ("--start-timeout", "5", "--call-timeout", "1")
    code, report = judged(tmp_path / "report.json", *limits, fault=fault, claims=False)
    assert code == 1
    assert report["stopped"].startswith(reason)
    assert not report["holds"]


def test_ctrl_c_ends_all_and_reports_what_there_is(tmp_path: Path) -> None:
    state = tmp_path / "state"
    options = [*SHORT, "--kills", "50", "--state", str(state)]
    lines = []
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "conformance", "guarantees", *options, "--", *PLAIN],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Processes that were started in the background of a script ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as judge:
        assert judge.stdout is not None
        for line in judge.stdout:
            lines.append(line)
            if line.startswith("kill 1 "):
                judge.send_signal(signal.SIGINT)
    assert judge.returncode == 130
    assert re.fullmatch(r"interrupted: \d of 50 kills were carried out\n", lines[-1])
    assert "Traceback" not in "".join(lines)
    assert msgspec.json.decode(state.read_bytes())["kills"] == {}


def test_a_backend_that_does_not_start_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    script = "print('no such option'); raise SystemExit(3)"
    assert main(["guarantees", "--", sys.executable, "-I", "-c", script]) == 1
    out = capsys.readouterr().out
    assert "not judged to the end: the server command ended with 3\n    no such option" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say how to start the backend"),
        (["--store-kill", "x"], "--store-start is missing"),
        (["--disk-full", "x"], "--disk-full and --disk-free go together"),
        (["--kind", "store"], "--kind store needs --store-start"),
        (["--kind", "clock"], "--kind clock needs --clock"),
        (["--json", "/no/such/file"], "cannot write /no/such/file"),
        (["--state", "/no/such/file"], "cannot write /no/such/file"),
        (["--lease", "1"], "'1' is no number of seconds from 2 to 3600"),
    ],
)
def test_misuse(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--", "server"] if arguments else []
    try:
        code = main(["guarantees", *arguments, *command])
    except SystemExit as error:
        code = int(str(error.code))
    assert code == 2
    assert message in capsys.readouterr().err
