"""Loads an author's module of cases; whatever it raises is a problem on one of its lines."""

import sys
import traceback
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import msgspec

from conformance.brought.problems import BadCases, Located
from conformance.case import OwnCase, cases_of

_PREFIX = "ojs_cases"


def python_cases(path: Path, origin: str) -> list[OwnCase]:
    """Load a module and return its cases, in the order of writing."""
    # The last part is the name of the suite.
    name = f"{_PREFIX}.{sha256(str(path.resolve()).encode()).hexdigest()}.{path.stem}"
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        # Unlike an import, this leaves no compiled file in the author's folder.
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except OSError as error:
        raise BadCases([Located(path, 1, f"cannot be read: {error.strerror}")]) from error
    except (Exception, SystemExit) as error:
        cases_of(name)
        raise BadCases([Located(path, *_what(error, path))]) from error
    found = cases_of(name)
    if not found:
        text = "has no case: a function with `@case` of `conformance.author` is expected"
        raise BadCases([Located(path, 1, text)])
    return [msgspec.structs.replace(case, path=str(path), origin=origin) for case in found]


def _what(error: BaseException, path: Path) -> tuple[int, str]:
    """Return the line of an error, and what it says."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        shown = f": {error.text.strip()}" if error.text else ""
        return error.lineno or 1, f"is not Python: {error.msg}{shown}"
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    return (lines[-1] if lines else None) or 1, f"{type(error).__name__}: {error}"
