"""Finds, reads and selects case files; a broken file stays in the list with its problem."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from conformance.dialects import BadDialect, dialect_of, to_dialect_a
from conformance.model import Assertions, Case, CaseFile, Section, Step, level_number
from conformance.nearest import nearest
from conformance.soundness import problems_of

_OTHER_DIALECTS = ("expect", "request", "store")


class SelectionError(Exception):
    """There is nothing to run: a folder is missing, or a filter matches no case."""


def load_suites(places: Iterable[Path]) -> list[CaseFile]:
    """Read the files and every ``*.json`` below the folders, sorted by id, then path."""
    found = [path for place in places for path in _files_at(place)]
    unique = {path.resolve(): path for path in reversed(found)}
    if not unique:
        raise SelectionError("no *.json file in the given suites")
    files = sorted(map(read_case, unique.values()), key=lambda file: (file.test_id, file.path))
    return _without_copies(files)


def select(
    files: Sequence[CaseFile], *, level: int | None = None, test_id: str | None = None
) -> list[CaseFile]:
    """Keep the cases of exactly this level and id; a file whose level is unreadable is kept."""
    if test_id is not None:
        known = [file.test_id for file in files]
        if test_id not in known:
            raise SelectionError(f"no case has the id {test_id!r} ({nearest(test_id, known)})")
        files = [file for file in files if file.test_id == test_id]
    if level is not None:
        levels = sorted({file.level for file in files if file.level is not None})
        if level not in levels:
            named = ", ".join(map(str, levels)) or "none"
            raise SelectionError(f"no case has level {level}; levels found: {named}")
        files = [file for file in files if file.level in (level, None)]
    return list(files)


def read_case(path: Path) -> CaseFile:
    """Read one file; whatever is wrong with it is told in ``problems``."""
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
        # A case of dialect A is decoded from its own text, which keeps the spelling of bodies.
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


def _files_at(place: Path) -> list[Path]:
    if place.is_dir():
        return sorted(path for path in place.rglob("*.json") if path.is_file())
    if place.exists():
        return [place]
    raise SelectionError(f"no such file or folder: {place}")


def _broken(path: Path, problem: str) -> CaseFile:
    return CaseFile(path=str(path), test_id=path.stem, level=None, problems=(f"file {problem}",))


def _without_copies(files: list[CaseFile]) -> list[CaseFile]:
    # Published ids repeat with different contents; only the same content twice is a mistake.
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
