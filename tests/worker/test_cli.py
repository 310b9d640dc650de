"""The command: its options, its words about wrong ones, and finding the worker."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ojs_worker.cli import SECTIONS
from ojs_worker.demo import worker as demo_worker
from ojs_worker.settings import NO_FLAG, TABLE
from ojs_worker.target import NoWorker, find_worker


def command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ojs_worker", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=cwd,
    )


def test_help_names_every_option_signal_and_exit_code() -> None:
    said = command("--help").stdout
    for setting in TABLE:
        assert (setting.flag in said) is (setting.name not in NO_FLAG)
    for title in SECTIONS.values():
        assert f"\n{title}:\n" in said
    assert "other settings" not in said
    for word in ("SIGTERM", "SIGTSTP", "SIGCONT", "OJS_AUTH_TOKEN", "130 or 143", "demo"):
        assert word in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], "needs the worker's name"),
        (["demo", "x:y"], "demo takes no worker"),
        (["run", "x:y", "--qeues", "a"], "did you mean --queues?"),
        (["run", "x:y", "--concurrency", "0"], "--concurrency: must be a whole number between 1"),
        (["run", "x:y", "--grace", "soon"], "--grace: `grace` must be a duration"),
    ],
)
def test_wrong_options_are_told(arguments: list[str], words: str) -> None:
    ended = command(*arguments)
    assert ended.returncode == 2
    assert words in ended.stderr


def test_a_worker_that_cannot_be_loaded_is_told(tmp_path: Path) -> None:
    (tmp_path / "broken_program.py").write_text("import no_such_module_anywhere\n")
    ended = command("run", "broken_program:worker", cwd=tmp_path)
    assert ended.returncode == 3
    assert "no_such_module_anywhere" in ended.stderr
    assert "broken_program:worker could not be imported" in ended.stderr
    missing = command("run", "nowhere_at_all:worker", cwd=tmp_path)
    assert missing.returncode == 3
    assert "there is no module nowhere_at_all" in missing.stderr


def test_the_worker_is_found_by_its_name() -> None:
    assert find_worker("ojs_worker.demo:worker") is demo_worker
    assert find_worker("ojs_worker.demo") is demo_worker
    with pytest.raises(NoWorker, match='did you mean "worker"'):
        find_worker("ojs_worker.demo:wroker")
    with pytest.raises(NoWorker, match="is a Handler, no Worker"):
        find_worker("ojs_worker.demo:echo")
    with pytest.raises(NoWorker, match="has none"):
        find_worker("ojs_worker.transport.backoff")


def test_the_demo_has_the_standard_handlers() -> None:
    names = {"echo", "fail_once", "fail_twice", "fail_always", "slow", "timeout", "panic"}
    names |= {"produce", "noop"}
    assert {f"test.{name}" for name in names} <= set(demo_worker.registry)


def test_the_version_is_that_of_the_package() -> None:
    assert re.fullmatch(r"ojs-worker \d+\.\d+\.\d+\S*\n", command("--version").stdout)
