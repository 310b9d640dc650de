"""Checks that the places which clauses cite are in the published texts and cases."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from conformance.clauses import Spec
from conformance.sources import Place, place_of

_HEADING = re.compile(r"#{1,6} (?:Appendix )?(?P<section>[0-9A-Z](?:[0-9.]*[0-9])?)\.?:? ")
# Texts that are not `spec/ojs-NAME.md`; the last four come with the published cases.
_FILES: Final = {
    "openapi": "openapi.yaml",
    "error-catalog": "ojs-error-catalog.md",
    "case-language": "docs/test-case-reference.md",
    "runner": "runner/http/runner.go",
    "runner-assertions": "lib/assertions.go",
    "runner-schema": "lib/schema.go",
}


class Published:
    """Copies of the published texts and cases in folders."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = list(folders)
        self._lines: dict[str, list[str] | None] = {}
        self._cases = set(self._case_ids())

    def problem(self, place: Place) -> str | None:
        """Return why a place cannot be found; None where it is there."""
        if place.case:
            return None if place.case in self._cases else f"there is no case {place.case}"
        lines = self._text(place.text)
        if lines is None:
            return f"there is no text {place.text}"
        if place.line > len(lines) or not lines[place.line - 1].strip():
            return f"{place.text} has nothing on line {place.line}"
        section = _section(lines, place.line)
        if section != place.section:
            return f"line {place.line} of {place.text} is in section {section or 'without number'}"
        return None

    def line(self, place: Place) -> str:
        """Return the line of a place that is there."""
        lines = self._text(place.text)
        return lines[place.line - 1] if lines else ""

    def _text(self, name: str) -> list[str] | None:
        if name not in self._lines:
            path = file_of(name)
            found = [folder / path for folder in self._folders if (folder / path).is_file()]
            self._lines[name] = found[0].read_text("utf-8").splitlines() if found else None
        return self._lines[name]

    def _case_ids(self) -> Iterator[str]:
        for folder in self._folders:
            for path in folder.glob("suites/**/*.json"):
                read = json.loads(path.read_text("utf-8"))
                yield str(read.get("test_id") if isinstance(read, dict) else None)


def file_of(text: str) -> str:
    """Return the path of a published text."""
    return _FILES.get(text, f"spec/ojs-{text}.md")


def place_problems(spec: Spec, published: Published) -> list[str]:
    """Return the sources of clauses that name a place which is not there."""
    return [
        f"{clause.file}:{clause.line}: {clause.id}: {source}: {problem}"
        for clause in spec.clauses
        for source in clause.sources
        if (place := place_of(source)) and (problem := published.problem(place))
    ]


def _section(lines: list[str], number: int) -> str:
    """Return the number of the section that a line is in; empty where headings have none."""
    for line in reversed(lines[:number]):
        if heading := _HEADING.match(line):
            return heading["section"]
    return ""
