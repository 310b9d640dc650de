"""Source files as they are parsed, and their imports, which are read once for all rules."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True)
class Import:
    """One imported name and its line; `lazy` if importing the module does not run the import."""

    name: str
    line: int
    lazy: bool


def parsed(file: Path) -> ast.Module:
    """Return a file as it is parsed.

    No tree is kept: those of all files are millions of objects, through which each later full
    collection of garbage in the process would go.
    """
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


@cache
def imports(file: Path, root: Path) -> tuple[Import, ...]:
    """Return all imports of a file, by absolute names."""
    folders = file.relative_to(root).parts[:-1]
    return tuple(_imports(parsed(file), folders, lazy=False))


def _imports(node: ast.AST, folders: tuple[str, ...], *, lazy: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, node.lineno, lazy)
    elif isinstance(node, ast.ImportFrom):
        # A relative import counts its dots from the package of the module.
        above = folders[: len(folders) - node.level + 1] if node.level else ()
        base = ".".join([*above, *([node.module] if node.module else [])])
        for alias in node.names:
            yield Import(f"{base}.{alias.name}", node.lineno, lazy)
    elif isinstance(node, ast.stmt | ast.Module | ast.ExceptHandler | ast.match_case):
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _is_for_types(node)
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, folders, lazy=lazy or inside)


def _is_for_types(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
        and not node.orelse
    )
