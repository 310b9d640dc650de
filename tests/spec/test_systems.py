"""docs/systems.md: every row of the other systems stands there, with a test on both stores."""

import ast
import re
from functools import lru_cache

import pytest

from tests.spec.clauses import ROOT

PAGE = ROOT / "docs" / "systems.md"
# How many rows each system has.
ROWS = {"0": 37, "1": 42, "2": 22, "3": 32}
# What a test that runs on both stores is given.
BOTH = {
    *("store_url", "store", "bench", "client", "server", "serve", "engine", "board", "world"),
    "watched",
}
_ROW = re.compile(r"^\| (\d+\.\d+) \| (.+) \| `([\w/]+\.py)::(\w+)` \|$", re.MULTILINE)

FOUND = _ROW.findall(PAGE.read_text(encoding="utf-8"))


@lru_cache
def functions(file: str) -> dict[str, set[str]]:
    """The tests of a file, each with what it is given."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {
        node.name: {argument.arg for argument in node.args.args}
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@pytest.mark.parametrize(("system", "count"), ROWS.items())
def test_every_row_stands_there_once_and_in_order(system: str, count: int) -> None:
    rows = [row for row, *_ in FOUND if row.split(".")[0] == system]
    assert rows == [f"{system}.{number}" for number in range(1, count + 1)]


def test_no_row_is_of_an_unknown_system() -> None:
    assert {row.split(".")[0] for row, *_ in FOUND} == ROWS.keys()


def test_each_row_has_a_test_on_both_stores_that_bears_its_name() -> None:
    for row, words, file, name in FOUND:
        assert words.strip(), row
        assert name.startswith(f"test_{row.replace('.', '_')}_"), row
        assert name in functions(file), row
        assert functions(file)[name] & BOTH, row
