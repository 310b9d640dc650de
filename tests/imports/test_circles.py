"""Tests for import circles, those of type checking and inside functions included."""

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "ojs_wire",
    "ojs_server",
    "ojs_ui",
    "ojs_worker",
    "pytest_ojs",
    "conformance",
    "demo",
    "examples",
    "benchmarks",
    "tests",
)

Graph = Mapping[str, Collection[str]]


def test_no_module_imports_itself_by_way_of_others() -> None:
    imports = graph(ROOT, PACKAGES)
    assert all(any(name.split(".")[0] == package for name in imports) for package in PACKAGES)
    assert circles(imports) == set()


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
    imports = {"a": ["b"], "b": ["a", "c"], "c": ["d"], "d": ["e"], "e": ["c"], "f": ["a"]}
    assert circles(imports) == {frozenset("ab"), frozenset("cde")}


def _plant(root: Path, files: Mapping[str, str]) -> None:
    for name, source in files.items():
        file = root / "p" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)


def graph(root: Path, packages: Collection[str]) -> Graph:
    """The modules of packages, and for each those among them that it imports anywhere."""
    files = {
        _name_of(file.relative_to(root)): file
        for package in packages
        for file in sorted((root / package).rglob("*.py"))
    }
    return {
        module: {
            found
            for name in _imported(file, module)
            # A name is a module, or stands in one.
            for found in (name if name in files else name.rpartition(".")[0],)
            if found in files and found != module
        }
        for module, file in files.items()
    }


def circles(imports: Graph) -> set[frozenset[str]]:
    """The largest sets of modules of which each leads to all others."""
    reached = {module: _reached_from(module, imports) for module in imports}
    found = {
        frozenset(other for other in there if module in reached[other])
        for module, there in reached.items()
    }
    return found - {frozenset()}


def _reached_from(start: str, imports: Graph) -> set[str]:
    reached: set[str] = set()
    ahead = list(imports[start])
    while ahead:
        if (module := ahead.pop()) not in reached:
            reached.add(module)
            ahead += imports[module]
    return reached


def _imported(file: Path, module: str) -> Iterator[str]:
    # The package that a relative import starts from.
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join(
                [*(parts if node.level else []), *([node.module] if node.module else [])]
            )
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _name_of(file: Path) -> str:
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")
