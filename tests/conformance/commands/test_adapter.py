"""Tests of the command `adapter`: choice of cases, reports, and programs that do not talk."""

import shlex
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from conformance.commands.cli import main
from tests.conformance.runs.test_adapter_runner import PLAIN


def test_reports_are_those_of_servers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--case", "transactions.committed", "--case", "relay.two_at_once"]
    faulty = [*PLAIN, "--fault", "gives_no_id"]
    code = main(["adapter", *chosen, "--seed", "7", "--report-dir", str(tmp_path), "--", *faulty])
    out = capsys.readouterr().out
    assert code == 1
    assert out.startswith("kills are chosen by --seed 7\n")
    assert "✓ transactions.committed" in out
    assert "[after two relays have read the same jobs] doubles" in out
    assert "\n2 cases: 1 pass, 1 fail\n" in out
    report = msgspec.json.decode((tmp_path / "report.json").read_bytes())
    assert (report["mode"], report["target"]) == ("adapter", shlex.join(faulty))
    assert report["implementation"] == {"name": "plain_adapter", "version": "1"}
    assert report["clauses"] == {"OJS-ADP-001": "pass", "OJS-ADP-007": "fail"}
    (suite, other) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert {suite.get("failures"), other.get("failures")} == {"0", "1"}
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "badge.svg",
        "index.html",
        "junit.xml",
        "report.json",
        "report.sarif",
        "summary.md",
    ]


def test_what_a_program_has_not_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    script = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    hello = {'hello': {'points': []}}\n"
        "    answer = hello if asked['do'] == 'hello' else {'unsupported': 'no such thing'}\n"
        "    print(json.dumps({'id': asked['id'], **answer}), flush=True)\n"
    )
    assert main(["adapter", "--", sys.executable, "-I", "-c", script]) == 0
    assert capsys.readouterr().out.endswith("15 cases: 15 skipped\n")


def test_a_program_that_does_not_talk_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    script = "import sys; print('ready'); print('no database', file=sys.stderr)"
    chosen = ["--case", "transactions.order", "--json", str(report)]
    code = main(["adapter", *chosen, "--", sys.executable, "-I", "-c", script])
    out = capsys.readouterr()
    assert code == 1
    assert "the program wrote 'ready', which is no answer" in out.out
    assert "Traceback" not in out.out + out.err
    (case,) = msgspec.json.decode(report.read_bytes())["cases"]
    assert case["verdict"] == "error"


def test_selectors_choose_cases(capsys: pytest.CaptureFixture[str]) -> None:
    def listed(*selectors: str) -> list[str]:
        assert main(["adapter", "--list", *selectors]) == 0
        return capsys.readouterr().out.split()

    everything = listed()
    assert listed("--suite", "adapter") == everything
    assert listed("--suite", "kills") == listed("--suite", "adapter/kills")
    assert listed("--case", "OJS-ADP-008") == ["relay.server_away"]
    published = listed("--profile", "published")
    assert "transactions.committed" in published
    assert set(everything) - set(published) >= {"relay.two_at_once", "relay.server_away"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["adapter"], "say how to start the program"),
        (["adapter", "--"], "say how to start the program"),
        (["adapter", "--case", "kills.at_rondom", "--", "x"], "(nearest: 'kills.at_random')"),
        (["adapter", "--suite", "kill", "--", "x"], "(nearest: 'kills')"),
        (["adapter", "--url", "http://h", "--server-cmd", "s", "--", "x"], "give one of them"),
        (["adapter", "--json", "/no/such/file", "--", "x"], "cannot write /no/such/file"),
    ],
)
def test_misuse_is_told(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_server_that_is_not_there_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    url = ["--url", "http://127.0.0.1:9"]
    assert main(["adapter", *url, "--case", "transactions.order", "--", *PLAIN]) == 1
    out = capsys.readouterr().out
    assert "error (the server does not answer" in out
    assert out.endswith("1 case: 1 error\n")
