"""Comments and docstrings that begin like a riddle: with a noun clause instead of its subject.

"Jobs that one step removes" says the same as a clause that begins with "how many", and says first
what it is about. Only the first line of a comment counts. These words are refused in full
sentences, too: telling them apart would take a grammar, and few comments need them. A condition
begins with "If".
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_RIDDLE: Final = re.compile(
    r"(?:what|how|whether|who|whose|where|when|which|so many|so much|the same|as many|as much|those"
    r"|whoever|whatever)\b"
)
_MARKERS: Final = {".py": "#", ".sql": "--", ".sh": "#", ".toml": "#", ".js": "//"}
# The first line of a comment that documents a function of JavaScript.
_JSDOC: Final = re.compile(r"\s*/\*\*\s*(.*)")
# A line such as `-- name: load_jobs`, behind which the comment of an SQL statement begins.
_DECLARATION: Final = re.compile(r"\w+: ")

Line = tuple[int, str]


def files_in(paths: Iterable[Path]) -> Iterator[Path]:
    """Return the files with these paths, and those of a known type in these folders."""
    for path in paths:
        if path.is_dir():
            yield from (one for one in sorted(path.rglob("*")) if one.suffix in _MARKERS)
        else:
            yield path


def riddles(suffix: str, text: str) -> list[Line]:
    """Return the comments and docstrings of a file that begin like a riddle, by line."""
    if suffix == ".py":
        found = [*_comments_of_python(text), *_docstrings(text)]
    elif suffix == ".js":
        found = [*_comments(text, "//"), *_jsdoc(text)]
    else:
        found = [*_comments(text, _MARKERS.get(suffix, "#"))]
    return sorted((number, line) for number, line in found if _is_riddle(line))


def _is_riddle(line: str) -> bool:
    return _RIDDLE.match(line[:1].lower() + line[1:]) is not None


def _comments_of_python(text: str) -> Iterator[Line]:
    last = -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        number = token.start[0]
        stands_alone = token.line.lstrip().startswith("#")
        if not (stands_alone and last == number - 1):
            yield number, token.string.lstrip("# ")
        if stands_alone:
            last = number


def _docstrings(text: str) -> Iterator[Line]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield node.body[0].lineno, docstring.splitlines()[0]


def _jsdoc(text: str) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines(), 1):
        if match := _JSDOC.match(line):
            yield number, match[1]


def _comments(text: str, marker: str) -> Iterator[Line]:
    pattern = re.compile(rf"(?:^|\s){marker}+\s*(.*)")
    goes_on = False
    for number, line in enumerate(text.splitlines(), 1):
        stands_alone = line.lstrip().startswith(marker)
        found = pattern.search(line)
        if found is not None and not (stands_alone and goes_on):
            yield number, found[1]
        goes_on = stands_alone and not (found is not None and _DECLARATION.match(found[1]))
