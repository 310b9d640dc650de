"""docs/systems/: every row of the other systems stands there, with a test on both stores, and the
runs of published clients are those that there are."""

import ast
import json
import re
from functools import lru_cache

import pytest

from tests.clients.zeebe.published import CAMUNDA_SDK, PYZEEBE, ZEEBE_NODE
from tests.spec.clauses import ROOT

PAGES = ROOT / "docs" / "systems"
# The systems, each with its page, and how many rows it has.
ROWS = {
    "0": ("managed-workers", 37),
    "1": ("job-manager", 42),
    "2": ("zeebe", 22),
    "3": ("blackboard", 32),
}
# Fixtures of tests that run on both stores.
BOTH = {
    *("store_url", "store", "bench", "client", "server", "serve", "engine", "board", "world"),
    "watched",
}
LOCKS = ROOT / "requirements" / "clients"
# Rows that no published client shows: its own program, or the passing of minutes, is what they are
# about, or it has no part in them.
UNSHOWN = {
    *("1.16", "1.21", "1.22", "1.25", "1.27", "1.28", "1.30", "1.33", "1.37", "1.42"),
    *("2.11", "2.19"),
}
_ROW = re.compile(
    r"^\| (\d+\.\d+) \| (.+?) \| `([\w/]+\.py)::(\w+)` \|(?: ((?:`[^`]+`(?:, )?)*) ?\|)?$",
    re.MULTILINE,
)
_CLIENT = re.compile(
    r"^\| `([\w@/-]+)` \| (\d[\d.]*) \| [^|(]+(?:\(`([\w-]+)` (\d[\d.]*)\))? \| (\d*)", re.MULTILINE
)


def text_of(page: str) -> str:
    """The text of a system's page."""
    return (PAGES / f"{page}.md").read_text(encoding="utf-8")


FOUND = [row for page, _ in ROWS.values() for row in _ROW.findall(text_of(page))]


@lru_cache
def functions(file: str) -> dict[str, set[str]]:
    """Return the tests of a file, each with the names of its parameters."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {
        node.name: {argument.arg for argument in node.args.args}
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@lru_cache
def runs(system: str) -> set[str]:
    """The runs of a system's published clients."""
    if system == "2":
        programs = (ZEEBE_NODE, PYZEEBE, CAMUNDA_SDK)
        return {f"{one.file}::{name}" for one in programs for name in one.scenarios}
    folder = "tests/clients/jobmanager"
    played, tests = f"{folder}/program/scenarios.py", f"{folder}/test_published.py"
    return {
        *(f"scenarios.py::{name}" for name, given in functions(played).items() if "world" in given),
        *(f"test_published.py::{name}" for name in functions(tests) if name.startswith("test_")),
    }


@pytest.mark.parametrize("system", ROWS)
def test_every_row_stands_on_its_page_once_and_in_order(system: str) -> None:
    page, count = ROWS[system]
    rows = [row for row, *_ in _ROW.findall(text_of(page))]
    assert rows == [f"{system}.{number}" for number in range(1, count + 1)]


def test_every_system_has_a_page_and_a_link_to_it() -> None:
    index = (ROOT / "docs" / "systems.md").read_text(encoding="utf-8")
    assert {page for page, _ in ROWS.values()} == {file.stem for file in PAGES.glob("*.md")}
    assert [page for page, _ in ROWS.values() if f"(systems/{page}.md)" not in index] == []


def test_each_row_has_a_test_on_both_stores_that_bears_its_name() -> None:
    for row, words, file, name, _ in FOUND:
        assert words.strip(), row
        assert name.startswith(f"test_{row.replace('.', '_')}_"), row
        assert name in functions(file), row
        assert functions(file)[name] & BOTH, row


def test_each_row_of_a_published_client_has_a_run_of_it() -> None:
    without = set()
    for row, _, _, _, named in FOUND:
        system = row.split(".")[0]
        if system not in ("1", "2"):
            continue
        shown = set(re.findall(r"`([^`]+)`", named))
        assert shown <= runs(system), row
        if not shown:
            without.add(row)
    assert without == UNSHOWN


def test_the_pages_name_the_versions_that_are_run() -> None:
    locked = json.loads((LOCKS / "package.json").read_text(encoding="utf-8"))["dependencies"]
    for file in LOCKS.glob("*.txt"):
        pins = re.findall(r"^([\w.-]+)==(\S+)", file.read_text(encoding="utf-8"), re.MULTILINE)
        locked |= dict(pins)
    named = [
        pair
        for page in ("job-manager", "zeebe")
        for client, version, beside, its_version, _ in _CLIENT.findall(text_of(page))
        for pair in ((client, version), (beside, its_version))
        if pair[0]
    ]
    assert {client for client, _ in named} == {
        *("zndraw-joblib", "python-socketio", "zeebe-node", "pyzeebe", "@camunda8/sdk")
    }
    assert [pair for pair in named if locked[pair[0]] != pair[1]] == []


def test_the_page_counts_the_scenarios_that_there_are() -> None:
    clients = {"zeebe-node": ZEEBE_NODE, "pyzeebe": PYZEEBE, "@camunda8/sdk": CAMUNDA_SDK}
    counted = {client: int(count) for client, *_, count in _CLIENT.findall(text_of("zeebe"))}
    assert counted == {name: len(program.scenarios) for name, program in clients.items()}
