"""Finds, reads and selects case files; a broken file stays in the list with its problem."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from conformance.language.dialects import BadDialect, dialect_of, to_dialect_a
from conformance.language.model import (
    Assertions,
    Case,
    CaseFile,
    Place,
    Problem,
    Section,
    Step,
    level_number,
)
from conformance.language.nearest import nearest
from conformance.language.validation import faults_of

_OTHER_DIALECTS = ("expect", "request", "store")
_AT_BYTE = re.compile(r"\(byte (\d+)\)")
_PART = re.compile(r"\.([^.\[\]`]+)|\[(\d+)\]")


class SelectionError(Exception):
    """There is nothing to run: a folder is missing, or a filter matches no case."""


def load_suites(places: Iterable[Path]) -> list[CaseFile]:
    """Read the files and every ``*.json`` below the folders, sorted by id, then path."""
    found = [(path, place) for place in places for path in _files_at(place)]
    unique = {path.resolve(): (path, place) for path, place in reversed(found)}
    if not unique:
        raise SelectionError("no *.json file in the given suites")
    files = [
        msgspec.structs.replace(read_case(path), suite=_suite(path, place))
        for path, place in unique.values()
    ]
    return _without_copies(sorted(files, key=lambda file: (file.test_id, file.path)))


def suite_names(file: CaseFile) -> list[str]:
    """Return the names that select the suite of a case: each folder on its way, and the path."""
    parts = file.suite.split("/")
    return [*parts, *("/".join(parts[:length]) for length in range(2, len(parts) + 1))]


def read_case(path: Path) -> CaseFile:
    """Read one file; its faults are listed in ``problems``."""
    try:
        content = path.read_bytes()
    except OSError as error:
        return _broken(path, f"cannot be read: {error.strerror}")
    return decode_case(content, path)


def decode_case(content: bytes, path: Path) -> CaseFile:
    """Read the text of a case, in whichever dialect it is written."""
    try:
        data = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _broken(path, f"is not JSON: {error}", _line_of(content, error))
    if not isinstance(data, dict):
        return _broken(path, "is no case: a JSON object is expected")
    dialect, faults, case = dialect_of(data), list(_unknown_keys(data)), None
    try:
        # Decode a case of dialect A from its original text, to keep the spelling of bodies.
        text = content if dialect == "A" else msgspec.json.encode(to_dialect_a(data))
        case = msgspec.json.decode(text, type=Case)
        faults.extend(faults_of(case))
    except BadDialect as error:
        faults.append(Problem(str(error), error.at))
    except msgspec.ValidationError as error:
        faults.append(Problem(str(error), _place_in(str(error))))
    test_id = data.get("test_id")
    return CaseFile(
        path=str(path),
        test_id=test_id if isinstance(test_id, str) else path.stem,
        level=level_number(data.get("level", 0)),
        case=case,
        faults=tuple(faults),
        dialect=dialect,
        raw=msgspec.Raw(content),
    )


def _suite(path: Path, place: Path) -> str:
    """Name the suite by its folders below the given place, or by that place itself."""
    below = path.parent.relative_to(place).as_posix() if place.is_dir() else "."
    return place.resolve().name if below == "." else below


def _files_at(place: Path) -> list[Path]:
    if place.is_dir():
        return sorted(path for path in place.rglob("*.json") if path.is_file())
    if place.exists():
        return [place]
    raise SelectionError(f"no such file or folder: {place}")


def _broken(path: Path, problem: str, line: int = 0) -> CaseFile:
    fault = Problem(f"file {problem}", line=line)
    return CaseFile(path=str(path), test_id=path.stem, level=None, faults=(fault,))


def _line_of(content: bytes, error: Exception) -> int:
    """Return the line on which a text ceases to be JSON."""
    if isinstance(error, UnicodeDecodeError):
        return content.count(b"\n", 0, error.start) + 1
    found = _AT_BYTE.search(str(error))
    return content.count(b"\n", 0, int(found[1]) if found else len(content)) + 1


def _place_in(message: str) -> Place:
    """Return the place that a message of msgspec ends with."""
    path = message.rpartition(" - at `$")[2] if " - at `$" in message else ""
    return tuple(int(item) if item else name for name, item in _PART.findall(path))


def _without_copies(files: list[CaseFile]) -> list[CaseFile]:
    # Published ids repeat with different contents, so only equal contents count as a copy.
    first: dict[bytes, str] = {}
    result = []
    for file in files:
        original = file.path
        if file.case:
            original = first.setdefault(msgspec.json.encode(file.case), file.path)
        copied = (Problem(f"file is a copy of {original}"),) if original != file.path else ()
        result.append(msgspec.structs.replace(file, faults=copied + file.faults))
    return result


def _unknown_keys(case: dict[str, object]) -> Iterator[Problem]:
    yield from _strangers(case, Case, "the case", ())
    for name in ("setup", "teardown"):
        section = case.get(name)
        if isinstance(section, dict):
            yield from _strangers(section, Section, name, (name,))
            yield from _strangers_in_steps(section.get("steps"), f"{name} step", (name, "steps"))
    yield from _strangers_in_steps(case.get("steps"), "step", ("steps",))


def _strangers_in_steps(steps: object, label: str, at: Place) -> Iterator[Problem]:
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        if isinstance(step, dict):
            place = f"{label} {step.get('id', number + 1)!r}"
            yield from _strangers(step, Step, place, (*at, number))
            if isinstance(step.get("assertions"), dict):
                yield from _strangers(
                    step["assertions"],
                    Assertions,
                    f"assertions of {place}",
                    (*at, number, "assertions"),
                )


def _strangers(
    record: dict[str, object], shape: type[msgspec.Struct], place: str, at: Place
) -> Iterator[Problem]:
    known = [field.encode_name for field in msgspec.structs.fields(shape)]
    if shape is Step:
        known = [*(name for name in known if name != "unwrap"), *_OTHER_DIALECTS]
    for name in record:
        if name not in known and not name.endswith("_comment"):
            yield Problem(f"unknown key {name!r} in {place} ({nearest(name, known)})", (*at, name))
