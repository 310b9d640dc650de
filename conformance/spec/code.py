"""Contents of the code of cases: the calls it makes, the numbers and the words it looks for."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, TypeGuard

import msgspec

FILLED: Final = "*"  # stands for a part of a path that is known only when the case runs
_CALLS: Final = {"get": "GET", "post": "POST", "delete": "DELETE"}
_NUMBER: Final = re.compile(r"\b\d{3}\b")
_WORD: Final = re.compile(r"[A-Za-z_][\w.-]*")


class Code(msgspec.Struct, frozen=True):
    """Numbers and words in the code of a case and of the functions of this suite that it uses."""

    numbers: frozenset[int]
    words: frozenset[str]


@cache
def code_of(play: Callable[..., Any]) -> Code:
    """Read the code of a case."""
    seen: dict[Callable[..., Any], _Function] = {}
    waiting = [play]
    while waiting:
        function = waiting.pop()
        if function not in seen:
            seen[function] = _read(function)
            waiting += seen[function].uses
    return Code(
        frozenset().union(*(each.numbers for each in seen.values())),
        frozenset().union(*(each.words for each in seen.values())),
    )


class _Function(msgspec.Struct):
    """Contents of one function."""

    numbers: set[int] = msgspec.field(default_factory=set)
    words: set[str] = msgspec.field(default_factory=set)
    uses: list[Callable[..., Any]] = msgspec.field(default_factory=list)

    def note(self, value: Any) -> None:
        """Take note of a constant and what is in it."""
        if isinstance(value, int):
            self.numbers.add(value)
        elif isinstance(value, str | bytes):
            text = value if isinstance(value, str) else value.decode(errors="replace")
            self.numbers.update(map(int, _NUMBER.findall(text)))
            for word in _WORD.findall(text):
                self.words.update((word, word.rstrip("."), *word.split(".")))
        elif isinstance(value, dict):
            for each in value.items():
                self.note(each)
        elif isinstance(value, tuple | list | set | frozenset):
            for each in value:
                self.note(each)


@cache
def _read(function: Callable[..., Any]) -> _Function:
    found = _Function()
    module = inspect.getmodule(function)
    names = set()
    tree = _tree(function)
    # A docstring may say what the code does not look for.
    titles = {id(_title(each)) for each in ast.walk(tree) if _has_title(each)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if id(node) not in titles:
                found.note(node.value)
        elif isinstance(node, ast.keyword) and node.arg:
            found.words.add(node.arg)
        elif isinstance(node, ast.Name):
            names.add(node.id)
    for name in sorted(names):
        used = getattr(module, name, None)
        if inspect.isfunction(used) and used.__module__.startswith("conformance"):
            found.uses.append(used)
        else:
            found.note(used)
    return found


def _has_title(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    return isinstance(node, functions) and ast.get_docstring(node, clean=False) is not None


def _title(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr:
    first = function.body[0]
    assert isinstance(first, ast.Expr)
    return first.value


def calls_of(play: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """Yield the calls whose path is written out in the code of a case; the method may be empty."""
    for node in ast.walk(_tree(play)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "stage"):
            continue
        verb, arguments = node.func.attr, node.args
        method = _CALLS.get(verb, "")
        if verb == "call" and len(arguments) > 1:
            method, arguments = _text(arguments[0]) or "", arguments[1:]
        elif not method:
            continue
        path = _text(arguments[0]) if arguments else None
        if path:
            yield method, (path if path.startswith("/") else f"/ojs/v1/{path}").partition("?")[0]


def refusals_of(play: Callable[..., Any]) -> Iterator[tuple[int, str]]:
    """Yield the statuses with their error codes that a case requires of answers."""
    for node in ast.walk(_tree(play)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            match [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]:
                case [int(status), str(code)] if node.func.attr == "error":
                    yield status, code


def own_numbers(play: Callable[..., Any]) -> frozenset[int]:
    """Return the numbers in the code of a case itself, without those of its helpers."""
    return frozenset(_read(play).numbers)


def checks_statuses(play: Callable[..., Any]) -> bool:
    """Return True if a case itself requires statuses of answers."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("expect", "error")
        for node in ast.walk(_tree(play))
    )


def words_sent(play: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """Yield the texts that the code of a case gives by name, as a member or as an argument."""
    for node in ast.walk(_tree(play)):
        pairs: list[tuple[Any, ast.expr]] = []
        if isinstance(node, ast.Dict):
            pairs = [
                (name.value, value)
                for name, value in zip(node.keys, node.values, strict=True)
                if isinstance(name, ast.Constant)
            ]
        elif isinstance(node, ast.keyword) and node.arg:
            pairs = [(node.arg, node.value)]
        for name, value in pairs:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield str(name), value.value


def is_path(called: str, documented: str) -> bool:
    """Return True if a path in the code of a case goes to a documented one."""
    mine, theirs = called.split("/"), documented.split("/")
    return len(mine) == len(theirs) and all(
        left == right or FILLED in left or right.startswith("{")
        for left, right in zip(mine, theirs, strict=True)
    )


@cache
def _tree(function: Callable[..., Any]) -> ast.Module:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    if isinstance(node.values[0], ast.FormattedValue):
        return None  # a path that begins with a filled part may be any path
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else FILLED for part in node.values
    )
