"""That each command is run in tests before real servers, and each that reads before another one."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click

from ojs_cli.grammar import Root

HERE = Path(__file__).parent
# They serve, complete, copy files or are about a program's database, and are tested in processes or
# without a server.
APART = {
    *("top", "ui", "server", "worker", "conformance", "completion", "backup", "restore"),
    "outbox",
}
# Commands that read; they report what a minimal server lacks.
READING = {
    "list",
    "show",
    "search",
    "history",
    "deliveries",
    "doctor",
    "status",
    "stats",
    "actions",
}


@cache
def commands() -> set[tuple[str, ...]]:
    """The commands of the click tree."""
    root = Root()
    context = click.Context(root)
    found: set[tuple[str, ...]] = set()
    for noun in root.list_commands(context):
        command = root.get_command(context, noun)
        if isinstance(command, click.Group):
            found |= {(noun, verb) for verb in command.commands}
        else:
            found.add((noun,))
    return {one for one in found if one[0] not in APART}


def lines_of(file: Path) -> Iterator[tuple[str, ...]]:
    """Yield the words that may begin a line of the command in a file of tests."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(args=words) | ast.Tuple(elts=words) if words:
                yield tuple(str(getattr(one, "value", "")) for one in words[:2])
            case ast.Constant(value=str(line)):
                yield tuple(line.split()[:2])


def run_in(*names: str) -> set[tuple[str, ...]]:
    """The commands that these files of tests run."""
    found = set()
    for line in (line for name in names for line in lines_of(HERE / name)):
        # Without a verb it is the list.
        found |= {line, line[:1]} if line in commands() else {line[:1], (*line[:1], "list")}
    return found


def test_each_command_is_run_on_both_stores() -> None:
    tests = (
        "test_jobs.py",
        "test_around.py",
        "test_transfer.py",
        "test_administration.py",
        "test_doctor.py",
    )
    assert commands() - run_in(*tests) == set()


def test_each_command_that_reads_is_run_before_another_server() -> None:
    reading = {one for one in commands() if one[-1] in READING}
    assert reading - run_in("test_foreign.py") == set()
