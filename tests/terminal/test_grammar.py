"""The grammar, the help, and how the command ends."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ojs_cli import failures, names
from ojs_cli.cli import main
from ojs_cli.commands import events
from ojs_cli.failures import CLOSED_PIPE, INTERRUPTED, MISUSED, OK, REFUSED
from ojs_cli.nouns import SECTIONS
from tests.terminal.conftest import ROOT, Ojs, program
from tests.terminal.foreign import LEAST, answering

NOUNS = [name for section in SECTIONS.values() for name in section]
HEAVY = ("asyncio", "httpx", "msgspec", "ojs_server", "ojs_worker", "rich", "yaml")


def test_help_is_grouped_and_names_every_command(run: Ojs) -> None:
    said = run("--help")
    assert said.code == OK
    assert len(said.out.splitlines()) <= 60
    for title in SECTIONS:
        assert f"\n{title}:\n" in said.out
    assert run().out == said.out
    assert run("--version").out.startswith("ojs ")


@pytest.mark.parametrize("noun", sorted({*NOUNS} - {"server", "worker", "conformance"}))
def test_every_command_explains_itself(run: Ojs, noun: str) -> None:
    said = run(noun, "--help")
    assert said.code == OK
    assert said.out.startswith(f"Usage: ojs {noun} ")


@pytest.mark.parametrize("name", ["server", "worker", "conformance"])
def test_programs_are_handed_their_words(run: Ojs, name: str) -> None:
    with pytest.raises(SystemExit) as end:
        run(name, "--help")
    assert end.value.code == 0


def test_a_program_gets_the_command_of_another_as_it_is(run: Ojs) -> None:
    chosen = ("worker", "--case", "starting.first_beat")
    said = run("conformance", *chosen, "--", "/no/such", "--port", "1")
    assert said.code == 1
    assert "cannot run '/no/such'" in said.out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("jbs", 'did you mean "jobs"?'),
        ("jobs lst", 'did you mean "list"?'),
        ("jobs --staet x", "no such option"),
        ("jobs -o xml", "'xml' is not one of"),
        ("queues pause", "NAME"),
    ],
)
def test_a_wrong_word_is_told_with_what_is_near(run: Ojs, words: str, hint: str) -> None:
    said = run(*words.split())
    assert (said.code, said.out) == (MISUSED, "")
    assert hint.lower() in said.err.lower()
    assert "--help`" in said.err


def test_an_interrupt_is_no_traceback(run: Ojs, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(events, "follow", interrupted)
    said = run("events", "tail", "--all")
    assert (said.code, said.err) == (INTERRUPTED, "ojs: interrupted\n")


EVENTS = {"events": [{"id": "e", "type": "job.enqueued"}], "cursor": "e"}


@pytest.mark.parametrize(
    "words", ["--help", "jobs", "jobs -o json", "export", "events tail --all", "top --once"]
)
def test_a_pipe_that_is_closed_ends_it_without_a_word(no_settings: None, words: str) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        with answering({**LEAST, "/ojs/v1/events": EVENTS}) as url:
            line = [*words.split(), "--url", url]
            ended = program("-m", "ojs_cli", *line, stdout=write)
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (CLOSED_PIPE, "")


@pytest.mark.parametrize("words", ["--help", "jobs", "jobs -o json"])
def test_a_full_disk_is_told(no_settings: None, words: str) -> None:
    with answering(LEAST) as url, Path("/dev/full").open("w") as full:
        line = [*words.split(), "--url", url]
        ended = program("-m", "ojs_cli", *line, stdout=full.fileno())
    told = "ojs: the output cannot be written: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (REFUSED, told)


@pytest.mark.parametrize("words", ["jobs --watch", "events tail --all"])
def test_a_signal_is_no_traceback(no_settings: None, words: str) -> None:
    with answering({**LEAST, "/ojs/v1/events": EVENTS}) as url:
        line = [sys.executable, "-m", "ojs_cli", *words.split(), "--url", url]
        with subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (INTERRUPTED, "ojs: interrupted\n")


def test_exit_codes_are_those_of_the_documentation() -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    section = page.partition("## Exit codes")[2].partition("\n## ")[0]
    codes = {value for value in vars(failures).values() if isinstance(value, int)}
    assert {int(code) for code in re.findall(r"(?m)^\| (\d+) \|", section)} == codes


def test_help_loads_nothing_that_is_slow_to_load() -> None:
    say = (
        "import sys; from ojs_cli.cli import main; main(['--help']);"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert program("-c", say).stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_completed(run: Ojs, shell: str) -> None:
    said = run("completion", shell)
    assert (said.code, "_OJS_COMPLETE" in said.out) == (OK, True)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ojs qu", ["queues"]),
        ("ojs queues pa", ["pause"]),
        ("ojs quues pa", []),
        ("ojs queues puse ma", []),
        ("ojs queues show m", ["mail"]),
        ("ojs workers quiet w", ["w1"]),
        ("ojs cron run ", ["night"]),
        ("ojs jobs -o j", ["json", "jsonl"]),
    ],
)
def test_words_and_names_are_completed(
    no_settings: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    expected: list[str],
) -> None:
    answers = {
        "/ojs/v1/queues": {"queues": [{"name": "mail"}, {"name": "print"}]},
        "/ojs/v1/workers": {"workers": [{"id": "w1"}]},
        "/ojs/v1/cron": {"crons": [{"name": "night"}]},
    }
    monkeypatch.setenv("_OJS_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    monkeypatch.setattr(names, "PATIENCE_S", 20)
    with answering(answers) as url:
        monkeypatch.setenv("OJS_URL", url)
        with pytest.raises(SystemExit):
            main([])
    completed = [one.partition(",")[2] for one in capsys.readouterr().out.split()]
    assert completed == expected


def test_nothing_is_said_where_there_is_no_server(
    no_settings: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OJS_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("_OJS_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "ojs queues show ")
    monkeypatch.setenv("COMP_CWORD", "3")
    with pytest.raises(SystemExit):
        main([])
    said = capsys.readouterr()
    assert (said.out.strip(), said.err) == ("", "")
