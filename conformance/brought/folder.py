"""Finds an author's files of cases, and gathers their cases or all that is wrong with them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from conformance.brought.problems import BadCases, Located
from conformance.brought.python_file import python_cases
from conformance.brought.text_file import SUFFIXES, text_case
from conformance.case import OwnCase, ServerCase, WorkerCase, all_cases
from conformance.language.model import CaseFile

_PYTHON = ".py"
_NAMES = "*.py, *.yaml, *.yml or *.json"


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of an author, by what they are played against."""

    files: Sequence[CaseFile] = ()
    servers: Sequence[ServerCase] = ()
    workers: Sequence[WorkerCase] = ()


def brought_cases(places: Iterable[Path]) -> Brought:
    """Read the files and all files of cases below the folders; raise for what is wrong."""
    files: list[CaseFile] = []
    modules: list[OwnCase] = []
    problems: list[Located] = []
    all_cases()  # no other case may have one of their ids
    for place in places:
        found = _files_at(place)
        if not place.exists():
            problems.append(Located(place, 1, "is neither a file nor a folder"))
        elif not found:
            problems.append(Located(place, 1, f"has no file of cases: {_NAMES}"))
        for path in found:
            try:
                if path.suffix == _PYTHON:
                    modules += python_cases(path, _suite(path, place))
                elif path.suffix not in SUFFIXES:
                    problems.append(Located(path, 1, f"has another name than {_NAMES}"))
                else:
                    files.append(text_case(path, _suite(path, place)))
            except BadCases as error:
                problems += error.problems
    named = [*((file.test_id, file.path) for file in files)]
    problems += _repeated([*named, *((case.id, case.path) for case in modules)])
    if problems:
        raise BadCases(problems)
    return Brought(
        files=files,
        servers=[case for case in modules if isinstance(case, ServerCase)],
        workers=[case for case in modules if isinstance(case, WorkerCase)],
    )


def _files_at(place: Path) -> list[Path]:
    """Return the files of a place; those whose names begin with `_` or `.` are none of cases."""
    if not place.is_dir():
        return [place] if place.exists() else []
    return sorted(
        path
        for path in place.rglob("*")
        if path.suffix in (_PYTHON, *SUFFIXES)
        and path.is_file()
        and not any(part.startswith(("_", ".")) for part in path.relative_to(place).parts)
    )


def _suite(path: Path, place: Path) -> str:
    """Name the suite by the folder and those below it on the way to the file."""
    if not place.is_dir():
        return path.resolve().parent.name
    folders = path.parent.relative_to(place).parts
    return "/".join((place.resolve().name, *folders))


def _repeated(named: Sequence[tuple[str, str]]) -> list[Located]:
    """Return a problem for each id that an earlier file has."""
    first: dict[str, str] = {}
    return [
        Located(
            Path(path), 1, f"has the id {name!r} of {first[name]}: an id of its own is expected"
        )
        for name, path in named
        if first.setdefault(name, path) != path
    ]
