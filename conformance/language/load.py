"""Finds, reads and selects case files; a broken file stays in the list with its problem."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from conformance.language.dialects import BadDialect, dialect_of, to_dialect_a
from conformance.language.model import Assertions, Case, CaseFile, Section, Step, level_number
from conformance.language.nearest import nearest
from conformance.language.validation import problems_of

_OTHER_DIALECTS = ("expect", "request", "store")


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
        return _broken(path, f"is not JSON: {error}")
    if not isinstance(data, dict):
        return _broken(path, "is no case: a JSON object is expected")
    dialect, problems, case = dialect_of(data), list(_unknown_keys(data)), None
    try:
        # Decode a case of dialect A from its original text, to keep the spelling of bodies.
        text = content if dialect == "A" else msgspec.json.encode(to_dialect_a(data))
        case = msgspec.json.decode(text, type=Case)
        problems.extend(problems_of(case))
    except (msgspec.ValidationError, BadDialect) as error:
        problems.append(str(error))
    test_id = data.get("test_id")
    return CaseFile(
        path=str(path),
        test_id=test_id if isinstance(test_id, str) else path.stem,
        level=level_number(data.get("level", 0)),
        case=case,
        problems=tuple(problems),
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


def _broken(path: Path, problem: str) -> CaseFile:
    return CaseFile(path=str(path), test_id=path.stem, level=None, problems=(f"file {problem}",))


def _without_copies(files: list[CaseFile]) -> list[CaseFile]:
    # Published ids repeat with different contents, so only equal contents count as a copy.
    first: dict[bytes, str] = {}
    result = []
    for file in files:
        original = file.path
        if file.case:
            original = first.setdefault(msgspec.json.encode(file.case), file.path)
        copied = (f"file is a copy of {original}",) if original != file.path else ()
        result.append(msgspec.structs.replace(file, problems=copied + file.problems))
    return result


def _unknown_keys(case: dict[str, object]) -> Iterator[str]:
    yield from _strangers(case, Case, "the case")
    for name in ("setup", "teardown"):
        section = case.get(name)
        if isinstance(section, dict):
            yield from _strangers(section, Section, name)
            yield from _strangers_in_steps(section.get("steps"), f"{name} step")
    yield from _strangers_in_steps(case.get("steps"), "step")


def _strangers_in_steps(steps: object, label: str) -> Iterator[str]:
    for number, step in enumerate(steps if isinstance(steps, list) else (), start=1):
        if isinstance(step, dict):
            place = f"{label} {step.get('id', number)!r}"
            yield from _strangers(step, Step, place)
            if isinstance(step.get("assertions"), dict):
                yield from _strangers(step["assertions"], Assertions, f"assertions of {place}")


def _strangers(record: dict[str, object], shape: type[msgspec.Struct], place: str) -> Iterator[str]:
    known = [field.encode_name for field in msgspec.structs.fields(shape)]
    if shape is Step:
        known = [*(name for name in known if name != "unwrap"), *_OTHER_DIALECTS]
    for name in record:
        if name not in known and not name.endswith("_comment"):
            yield f"unknown key {name!r} in {place} ({nearest(name, known)})"
