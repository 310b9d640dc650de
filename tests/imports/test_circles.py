"""Tests for import circles, those of type checking and inside functions included."""

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from tests.imports.source import ROOT, imports

PACKAGES = (
    "ojs_wire",
    "ojs_server",
    "ojs_ui",
    "ojs_worker",
    "ojs_django",
    "ojs_starlette",
    "pytest_ojs",
    "conformance",
    "demo",
    "examples",
    "benchmarks",
    "tests",
)

Graph = Mapping[str, Collection[str]]


def test_no_module_imports_itself_by_way_of_others() -> None:
    found = graph(ROOT, PACKAGES)
    assert {name.split(".")[0] for name in found} == {*PACKAGES}
    assert circles(found) == set()


@pytest.mark.parametrize(
    "package",
    ["ojs_server.ops", "ojs_server.http", "ojs_server.domain", "ojs_worker", "conformance"],
)
def test_folders_use_each_other_one_way(package: str) -> None:
    assert mutual(graph(ROOT, [package.replace(".", "/")]), package) == set()


def test_two_folders_that_use_each_other_are_found() -> None:
    imports = {
        "p.a.x": ["p.b.y", "p.c.z"],
        "p.b.y": [],
        "p.b.w": ["p.a.x"],
        "p.c.z": ["p.d"],
        "p.d": ["p.a.x"],
    }
    assert mutual(imports, "p") == {frozenset("ab")}


@pytest.mark.parametrize(
    ("files", "circle"),
    [
        ({"a.py": "import p.b", "b.py": "from p import a"}, {"p.a", "p.b"}),
        ({"a.py": "from p.b import x", "b.py": "def f():\n    from .a import y"}, {"p.a", "p.b"}),
        (
            {
                "a.py": "from p.q.b import x",
                "q/b.py": "if TYPE_CHECKING:\n    from ..c import y",
                "c.py": "from p.a import z",
            },
            {"p.a", "p.c", "p.q.b"},
        ),
        ({"__init__.py": "from .a import x", "a.py": "from p import x"}, {"p", "p.a"}),
        ({"__init__.py": "from p.a import x", "a.py": "from . import y"}, {"p", "p.a"}),
    ],
)
def test_a_circle_is_found(tmp_path: Path, files: Mapping[str, str], circle: set[str]) -> None:
    _plant(tmp_path, files)
    assert circles(graph(tmp_path, ["p"])) == {frozenset(circle)}


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "from p.b import x", "b.py": "import json"},
        {"a.py": "from p import b, c", "b.py": "from p.c import x", "c.py": ""},
        {"__init__.py": "", "a.py": "from p import b", "b.py": "import q"},
    ],
)
def test_no_circle_is_found_where_there_is_none(tmp_path: Path, files: Mapping[str, str]) -> None:
    _plant(tmp_path, files)
    assert circles(graph(tmp_path, ["p"])) == set()


def test_two_circles_are_told_apart() -> None:
    graph = {"a": ["b"], "b": ["a", "c"], "c": ["d"], "d": ["e"], "e": ["c"], "f": ["a"]}
    assert circles(graph) == {frozenset("ab"), frozenset("cde")}


def _plant(root: Path, files: Mapping[str, str]) -> None:
    for name, source in files.items():
        file = root / "p" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)


def graph(root: Path, packages: Collection[str]) -> Graph:
    """Return the modules of packages, each with those among them that it imports anywhere."""
    files = {
        _name_of(file.relative_to(root)): file
        for package in packages
        for file in sorted((root / package).rglob("*.py"))
    }
    return {
        module: {
            imported
            for name in (found.name for found in imports(file, root))
            # A name is a module, or stands in one.
            for imported in (name if name in files else name.rpartition(".")[0],)
            if imported in files and imported != module
        }
        for module, file in files.items()
    }


def mutual(imports: Graph, package: str) -> set[frozenset[str]]:
    """Return the pairs of folders of a package that import each other."""
    depth = len(package.split("."))
    pairs = {
        (here[depth], there[depth])
        for here, there in (
            (module.split("."), other.split(".")) for module in imports for other in imports[module]
        )
        # A module of the package itself belongs to no folder.
        if len(here) > depth + 1 and len(there) > depth + 1
    }
    return {frozenset(pair) for pair in pairs if pair[0] != pair[1] and pair[::-1] in pairs}


def circles(graph: Graph) -> set[frozenset[str]]:
    """Return the strongly connected components of more than one module (Tarjan)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    # Modules that are not known to be in a set yet, in the order of their numbers.
    open_: dict[str, None] = {}
    found = set()

    def visit(module: str) -> None:
        numbers[module] = lowest[module] = len(numbers)
        open_[module] = None
        for other in graph[module]:
            if other not in numbers:
                visit(other)
            if other in open_:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == numbers[module]:
            members = set()
            while module not in members:
                members.add(open_.popitem()[0])
            if len(members) > 1:
                found.add(frozenset(members))

    for module in graph:
        if module not in numbers:
            visit(module)
    return found


def _name_of(file: Path) -> str:
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")
