"""Names of the SDK as their source describes them: signatures, docstrings, comments on fields."""

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_args, get_origin, is_typeddict

import msgspec

from ojs_worker.client.surface import Blocking, InLoop

OURS: Final = ("ojs_worker", "ojs_wire")
# Longer signatures have a line for each parameter.
WIDTH: Final = 100
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Field(msgspec.Struct, frozen=True):
    """A member that is a value."""

    name: str
    type: str
    default: str
    text: str


class Described(msgspec.Struct, frozen=True):
    """A class, a function or a method: how it is called, and its docstring."""

    name: str
    signature: str
    text: str
    fields: tuple[Field, ...] = ()
    methods: tuple["Described", ...] = ()


def described(module: ModuleType, name: str) -> Described:
    """Return the description of a public name."""
    value = getattr(module, name)
    home = sys.modules[value.__module__]
    node = _named(home, value.__name__)
    if isinstance(node, ast.ClassDef):
        return _class(value, node)
    if isinstance(node, Function):
        return _function(home, node)
    raise TypeError(f"{name} is neither a class nor a function")


def alias(module: ModuleType, name: str) -> Described:
    """Return the description of a type that is a name for another one."""
    node = _named(module, name)
    assert isinstance(node, ast.Assign)
    return Described(name, f"{name} = {ast.unparse(node.value)}", _above(module, node))


def _class(value: type, node: ast.ClassDef) -> Described:
    fields: dict[str, Field] = {}
    methods: dict[str, Described] = {}
    signature = ""
    # Names of the class itself come first, and hide those of its bases.
    meant = _meant(value)
    for base in _bases(value):
        home = sys.modules[base.__module__]
        for member in _class_node(base).body:
            if isinstance(member, Function):
                if member.name == "__init__" and not signature:
                    made = _bound(member, meant)
                    signature = _signature(home, made, node.name, answers=False)
                elif not member.name.startswith("_") and member.name not in fields:
                    _keep(methods, _function(home, _bound(member, meant)))
            elif (field := _field(home, member)) is not None:
                fields.setdefault(field.name, field)
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    return Described(node.name, signature, text, tuple(fields.values()), tuple(methods.values()))


def _meant(value: type) -> Mapping[str, str]:
    """Return the names of type variables of a class's bases, with what they mean in the class."""
    found: dict[str, str] = {}
    for base in value.__mro__:
        for generic in vars(base).get("__orig_bases__", ()):
            names = getattr(get_origin(generic), "__parameters__", ())
            for name, given in zip(map(str, names), get_args(generic), strict=False):
                found.setdefault(name.lstrip("~"), _word(given))
    return found


def _word(given: Any) -> str:
    inside = ", ".join(map(_word, get_args(given)))
    name: str = getattr(given, "__name__", str(given))
    return f"{name}[{inside}]" if inside else name


def _bound(node: Function, meant: Mapping[str, str]) -> Function:
    """Return a call that both kinds of clients have as it is in one of them."""
    bound = _Meant(meant).visit(deepcopy(node))
    kind = meant.get("M")
    sends = {ast.unparse(word) for word in node.decorator_list} & {"composed", "method"}
    if kind == InLoop.__name__ and sends:
        bound = ast.AsyncFunctionDef(**vars(bound))
    elif kind == Blocking.__name__:
        bound = ast.FunctionDef(**vars(bound))
        answer = ast.unparse(bound.returns) if bound.returns else ""
        if found := re.fullmatch(r"AsyncGenerator\[(\w+), None\]", answer):
            bound.returns = ast.Name(f"Iterator[{found[1]}]")
    assert isinstance(bound, Function)
    return bound


class _Meant(ast.NodeTransformer):
    """Puts what they mean in the place of type variables."""

    def __init__(self, meant: Mapping[str, str]) -> None:
        self._meant = meant

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Replace a name."""
        return ast.Name(self._meant.get(node.id, node.id))


def _keep(methods: dict[str, Described], found: Described) -> None:
    """Keep the first description of a method; of overloads the last, which has the docstring."""
    if not (known := methods.get(found.name)) or not known.text:
        methods[found.name] = found


def _bases(value: type) -> Iterator[type]:
    for base in value.__mro__:
        if base.__module__.split(".")[0] in OURS:
            yield base
    if is_typeddict(value):
        # Members of bases have no position in the source.
        for word in map(ast.unparse, _class_node(value).bases):
            found = getattr(sys.modules[value.__module__], word, None)
            if found is not None and is_typeddict(found):
                yield from _bases(found)


def _function(home: ModuleType, node: Function) -> Described:
    decorators = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    if decorators & {"property", "cached_property"}:
        answer = "" if node.returns is None else f": {_unquoted(node.returns)}"
        return Described(node.name, node.name + answer, text)
    signature = _signature(home, node, node.name)
    if decorators & {"contextmanager", "asynccontextmanager"}:
        signature = f"with {signature}"
    return Described(node.name, signature, text)


def _signature(home: ModuleType, node: Function, name: str, *, answers: bool = True) -> str:
    given = node.args
    words: list[str] = []
    placed = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(placed) - len(given.defaults)) + list[Any](given.defaults)
    words += [_parameter(home, *pair) for pair in zip(placed, defaults, strict=True)]
    if placed and placed[0].arg in ("self", "cls"):
        words.pop(0)
    if given.vararg is not None:
        words.append(f"*{_parameter(home, given.vararg)}")
    elif given.kwonlyargs:
        words.append("*")
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    words += [_parameter(home, *pair) for pair in named]
    if given.kwarg is not None:
        words.append(f"**{_parameter(home, given.kwarg)}")
    answer = f" -> {_answer(node.returns)}" if answers and node.returns is not None else ""
    before = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    line = f"{before}{name}({', '.join(words)}){answer}"
    if len(line) <= WIDTH:
        return line
    return f"{before}{name}(\n" + "".join(f"    {word},\n" for word in words) + f"){answer}"


def _parameter(home: ModuleType, one: ast.arg, default: ast.expr | None = None) -> str:
    kind = "" if one.annotation is None else f": {_unquoted(one.annotation)}"
    if default is None:
        return one.arg + kind
    # Show the value of a constant instead of its name.
    named = getattr(home, default.id, None) if isinstance(default, ast.Name) else None
    shown = repr(named) if isinstance(named, int | float | str) else ast.unparse(default)
    return f"{one.arg}{kind} = {shown}" if kind else f"{one.arg}={shown}"


def _answer(node: ast.expr) -> str:
    """Return the type of an answer; a client sends what its groups of calls make."""
    text = re.sub(r"^Call\[(.*)\]$", r"\1", _unquoted(node))
    return re.sub(r"^Pages\[", "Iterator[", text)


def _unquoted(node: ast.expr) -> str:
    return (
        ast.unparse(node).replace("'", "")
        if "Literal" not in ast.unparse(node)
        else ast.unparse(node)
    )


def _field(module: ModuleType, node: ast.stmt) -> Field | None:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        name, kind, value = node.target.id, _unquoted(node.annotation), node.value
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name, kind, value = node.targets[0].id, "", node.value
    else:
        return None
    if name.startswith("_"):
        return None
    return Field(name, kind, "" if value is None else ast.unparse(value), _above(module, node))


def _above(module: ModuleType, node: ast.stmt) -> str:
    """Return the comment in the lines above a statement."""
    lines = _lines(module)
    first = node.lineno - 1
    while first and lines[first - 1].strip().startswith("#"):
        first -= 1
    return " ".join(line.strip().lstrip("# ") for line in lines[first : node.lineno - 1])


def _class_node(value: type) -> ast.ClassDef:
    node = _named(sys.modules[value.__module__], value.__name__)
    assert isinstance(node, ast.ClassDef)
    return node


def _named(module: ModuleType, name: str) -> ast.stmt:
    found = [
        node
        for node in _tree(module).body
        if getattr(node, "name", None) == name
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name)
    ]
    # Of overloads the last.
    return found[-1]


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse("\n".join(_lines(module)))


@cache
def _lines(module: ModuleType) -> list[str]:
    assert module.__file__ is not None
    return Path(module.__file__).read_text(encoding="utf-8").splitlines()
