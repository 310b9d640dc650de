"""Mutants of the server's domain rules: the rules with one small change each."""

import ast
import hashlib
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

import msgspec

from tests.mutants.known import SETTINGS
from tests.mutants.operators import Site, changed, sites

ROOT: Final = Path(__file__).parents[2]
SERVER: Final = ROOT / "ojs_server"
DOMAIN: Final = SERVER / "domain"
# The rules of other systems.
SYSTEMS: Final = (
    *(SERVER / "systems" / "jobmanager" / "domain").glob("*.py"),
    SERVER / "systems" / "blackboard" / "domain.py",
    SERVER / "systems" / "zeebe" / "variables.py",
)


class Mutant(msgspec.Struct, frozen=True, order=True):
    """One change in one function."""

    # The module below `domain`, such as `jobs.retry`, or that of another system.
    subject: str
    site: Site
    function: str

    @property
    def name(self) -> str:
        """The name by which it is asked for."""
        return f"{self.subject}:{self.site.line}:{self.site.column}:{self.site.change}"

    @property
    def line(self) -> str:
        """The line of code that is changed."""
        return _source(self.subject).splitlines()[self.site.line - 1].strip()

    @property
    def key(self) -> str:
        """Return an identity that does not change with other lines of the file."""
        return f"{self.subject} {self.function} {self.site.change}: {self.line}"

    def plant(self) -> None:
        """Change the function in this process, wherever it was imported already."""
        path = _path(self.subject).relative_to(ROOT).with_suffix("")
        module = importlib.import_module(".".join(path.parts))
        tree = changed(_tree(self.subject), self.site)
        code = compile(tree, str(module.__file__), "exec")
        _function(module, self.function).__code__ = _code(code, self.function)


@cache
def all_mutants() -> list[Mutant]:
    """Return every mutant of the rules in clauses, in the order of the files and of writing."""
    return [
        Mutant(subject, site, function)
        for path in (*sorted(DOMAIN.rglob("*.py")), *sorted(SYSTEMS))
        if (subject := _subject(path)) not in SETTINGS
        for function, node in _functions(_tree(subject))
        for site in sorted(set(sites(node)))
    ]


def sample(count: int, seed: int) -> list[Mutant]:
    """Return so many mutants; a change of other code changes hardly anything of the choice."""

    def rank(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed} {mutant.key}".encode()).digest()

    return sorted(sorted(all_mutants(), key=rank)[:count])


def _subject(path: Path) -> str:
    base = DOMAIN if path.is_relative_to(DOMAIN) else SERVER
    return ".".join(path.relative_to(base).with_suffix("").parts)


def _path(subject: str) -> Path:
    base = SERVER if subject.startswith("systems.") else DOMAIN
    return base.joinpath(*subject.split(".")).with_suffix(".py")


@cache
def _source(subject: str) -> str:
    return _path(subject).read_text(encoding="utf-8")


@cache
def _tree(subject: str) -> ast.Module:
    return ast.parse(_source(subject))


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, ast.FunctionDef):
                    yield f"{node.name}.{each.name}", each


def _code(module: CodeType, name: str) -> CodeType:
    """Return the code of a function or method in the code of its module."""
    found = module
    for part in name.split("."):
        inner = (each for each in found.co_consts if isinstance(each, CodeType))
        found = next(each for each in inner if each.co_name == part)
    return found


def _function(module: object, name: str) -> FunctionType:
    """Return a function or method, without what wraps it."""
    owner: Any = module
    *classes, last = name.split(".")
    for part in classes:
        owner = getattr(owner, part)
    found: Any = vars(owner)[last]
    for way in ("__func__", "fget", "func", "__wrapped__"):
        while hasattr(found, way):
            found = getattr(found, way)
    assert isinstance(found, FunctionType), name
    return found


def by_name(name: str) -> Mutant:
    """Return the mutant of a name."""
    for mutant in all_mutants():
        if mutant.name == name:
            return mutant
    raise LookupError(f"no mutant is called {name!r}")
