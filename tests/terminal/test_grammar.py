"""The grammar, the help, and how the command ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ojs_cli.commands import events
from ojs_cli.failures import CLOSED_PIPE, INTERRUPTED, MISUSED, OK
from ojs_cli.grammar import SECTIONS
from tests.terminal.conftest import Ojs

ROOT = Path(__file__).parents[2]
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


def _program(*words: str, stdout: int = subprocess.PIPE) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=60,
    )


def test_a_pipe_that_is_closed_ends_it_without_a_word() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        ended = _program("-m", "ojs_cli", "--help", stdout=write)
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (CLOSED_PIPE, "")


def test_help_loads_nothing_that_is_slow_to_load() -> None:
    say = (
        "import sys; from ojs_cli.cli import main; main(['--help']);"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert _program("-c", say).stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_completed(run: Ojs, shell: str) -> None:
    said = run("completion", shell)
    assert (said.code, "_OJS_COMPLETE" in said.out) == (OK, True)
