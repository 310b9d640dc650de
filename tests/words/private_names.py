"""Names that only their author understands: words that the field does not use for these things.

An answer that was `told` is a response, a value that is `wanted` is expected, a worker that is
`buried` was declared dead. Function, class, argument and variable names, and names of modules, are
checked part by part; `tell_apart` has two parts.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

PACKAGES: Final = frozenset(
    {
        *("ojs_wire", "ojs_server", "ojs_ui", "ojs_worker", "ojs_django", "ojs_starlette"),
        *("ojs_cli", "pytest_ojs", "conformance"),
    }
)
_PRIVATE: Final = frozenset(
    {
        *("told", "tell", "tells", "untold", "said", "say", "says", "asked", "asks", "asking"),
        *("heard", "unheard", "hear", "hears", "wanted", "meant", "met", "sees", "spoken"),
        *("judge", "judged", "judges", "judgement", "foreseen", "doomed", "bury", "buried"),
        *("vain", "patient", "patiently", "outlast", "apart", "aside", "beside", "happened"),
        *("whose", "whoever", "nobody", "anybody", "everybody", "somebody"),
        *("farewell", "desk", "staffed", "unserved", "wear", "certainty", "dice", "wish", "passes"),
    }
)
# Names that stay, with the reason.
_KEPT: Final[Mapping[str, str]] = {
    "told_at": "a column of the progress of jobs",
    "wear": "a promised argument of `Worker.life` (tests/packaging/sdk.txt)",
    "apart": "an option of `ojs-conformance run`, and its member of the plan",
}
# A function of a case is named by its sentence, and is the id of the case.
_CASES: Final = frozenset({"case", "worker_case"})
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_JS_NAME: Final = re.compile(r"\b(?:const|let|function|class)\s+([A-Za-z_]\w*)")

Line = tuple[int, str]


def is_checked(path: Path) -> bool:
    """Return true if names of a file are checked: those of packages, but not generated ones."""
    return path.parts[0] in PACKAGES and not path.stem.endswith(("_pb2", "_pb2_grpc"))


def private_names(path: Path, text: str) -> list[Line]:
    """Return the private names that a file of Python or JavaScript gives, by line."""
    match path.suffix:
        case ".py":
            names = [(1, path.stem), *_names_of_python(ast.parse(text))]
        case ".js":
            names = [(1, path.stem), *_names_of_javascript(text)]
        case _:
            names = []
    return sorted({(number, name) for number, name in names if _is_private(name)})


def _is_private(name: str) -> bool:
    if name in _KEPT:
        return False
    return not _PRIVATE.isdisjoint(part.lower() for part in _PARTS.findall(name))


def _names_of_javascript(text: str) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines(), 1):
        for match in _JS_NAME.finditer(line):
            yield number, match[1]


def _names_of_python(tree: ast.Module) -> Iterator[Line]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if not _is_case(node):
                    yield node.lineno, node.name
            case ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr
            case ast.alias(asname=str(name)):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield node.lineno, name


def _is_case(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    calls = (each.func for each in function.decorator_list if isinstance(each, ast.Call))
    return any(isinstance(name, ast.Name) and name.id in _CASES for name in calls)
