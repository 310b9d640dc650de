"""Reads an author's case in YAML or JSON, with the line of whatever is wrong."""

from pathlib import Path

import msgspec

from conformance.brought.problems import BadCases, Located
from conformance.brought.yaml_text import BadText, json_of, lines_of
from conformance.language.load import decode_case
from conformance.language.model import CaseFile

YAML = (".yaml", ".yml")
SUFFIXES = (".json", *YAML)


def text_case(path: Path, suite: str) -> CaseFile:
    """Read a case; one that names no clause is about itself."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadCases([Located(path, 1, f"cannot be read: {error.strerror}")]) from error
    try:
        text = content.decode()
        file = decode_case(json_of(text).encode() if path.suffix in YAML else content, path)
        if file.faults:
            raise BadCases(_located(file, text))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadCases([Located(path, line, f"is not UTF-8: {error.reason}")]) from error
    except BadText as error:
        raise BadCases([Located(path, error.line, str(error))]) from error
    case = file.case
    if case is not None and not case.clauses:
        case = msgspec.structs.replace(case, clauses=(file.test_id,))
    return msgspec.structs.replace(file, case=case, suite=suite)


def _located(file: CaseFile, text: str) -> list[Located]:
    if any(fault.line for fault in file.faults):  # it is not even JSON, so it has no places
        return [
            Located(Path(file.path), fault.line or 1, fault.text.removeprefix("file "))
            for fault in file.faults
        ]
    lines = lines_of(text)
    return [Located(Path(file.path), lines.line_at(f.at), f.text) for f in file.faults]
