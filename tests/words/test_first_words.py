"""The check of first words sees comments of each kind of file, and only their first lines."""

from pathlib import Path

import pytest

from tests.words.first_words import files_in, riddles


@pytest.mark.parametrize(
    "text",
    [
        "# How long a client may take.\nA = 1\n",
        "A = 1  # what it is\n",
        '"""Whether it is so."""\n',
        'class A:\n    """Those of them."""\n',
        'def a():\n    """So many of them."""\n',
        "# Retry interval.\nA = 1\n# Where it is.\nB = 1\n",
        "A = 1  # Retry interval.\n# Whose it is.\n",
        "#What it is\n",
    ],
)
def test_a_riddle_in_python_is_found(text: str) -> None:
    assert len(riddles(".py", text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "# Retry interval of operations:\n# What follows is its limit.\n",
        "# Whichever is first.\n# Whatsoever.\n# Howard's.\n",
        'A = "# What it is"\n',
        'A = """\n# What it is\n"""\n',
        '"""Retry interval.\n\nWhat follows is its limit.\n"""\n',
        "# The sameness of all.\n",
        "# WHERE of the statement.\n",
    ],
)
def test_other_comments_of_python_pass(text: str) -> None:
    assert riddles(".py", text) == []


def test_a_riddle_is_found_behind_the_declarations_of_a_statement() -> None:
    text = "-- name: load\n-- What is loaded,\n-- Which is all.\n-- row: id\nSELECT 1 -- How many\n"
    assert riddles(".sql", text) == [(2, "What is loaded,"), (5, "How many")]


def test_a_riddle_is_found_in_a_makefile() -> None:
    text = "# Tests\n# What they do.\nall: ## Which are all\n\techo '# none'  # Who says so\n"
    assert riddles("", text) == [(3, "Which are all"), (4, "Who says so")]


def test_a_riddle_is_found_in_javascript() -> None:
    text = (
        "// Which page it is.\n"
        "// Who reads.\n"
        'const URL = "http://what"; // Where it is\n'
        "/** How it is done,\n * what for. */\n"
        "  /** Whether it is. */\n"
        "/** Return the page. */\n"
    )
    assert [number for number, _ in riddles(".js", text)] == [1, 3, 4, 6]


def test_files_of_folders_are_those_of_known_types(tmp_path: Path) -> None:
    for name in ("a.py", "b.sql", "c.js", "d.md", "Makefile"):
        (tmp_path / name).touch()
    found = files_in([tmp_path, tmp_path / "Makefile"])
    assert [file.name for file in found] == ["a.py", "b.sql", "c.js", "Makefile"]
