"""Reads the specification: files of clauses, each with an id, a strength, a side and sources."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

from conformance.data_files import data_path

STRENGTHS = ("must", "should", "may")
SIDES = ("server", "worker", "client", "adapter")

# A clause that a text names.
REFERENCE = re.compile(r"OJS-[A-Z]{3,4}-\d{3}")

_FILE = re.compile(r"(\d\d)-[a-z0-9-]+\.md")
_START = re.compile(r"^\*\*(OJS-[^*\s]*)\*\*", re.MULTILINE)
_NEXT = re.compile(r"^(?:\*\*OJS-|#)", re.MULTILINE)
_CLAUSE = re.compile(
    r"\*\*(?P<id>OJS-(?P<letters>[A-Z]{3,4})-(?P<number>\d{3}))\*\* "
    r"\((?P<strength>[a-z]+), (?P<side>[a-z]+); (?P<sources>[^);]*)(?:;\s+(?P<marks>[^)]*))?\)\s+"
    r"(?P<text>\S.*)",
    re.DOTALL,
)


class Table(msgspec.Struct, frozen=True):
    """A table that follows a clause and belongs to it."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class SpecError(Exception):
    """There is no specification at the given place."""


class Clause(msgspec.Struct, frozen=True, kw_only=True):
    """A numbered requirement on servers, clients, workers or adapters."""

    id: str
    strength: str
    side: str
    sources: tuple[str, ...]
    text: str
    file: str
    line: int
    marks: tuple[str, ...] = ()  # figures and prohibitions of the text, for programs
    tables: tuple[Table, ...] = ()

    @property
    def binds_servers(self) -> bool:
        """True if a server must keep it to conform."""
        return self.strength == "must" and self.side == "server"

    @property
    def binds_workers(self) -> bool:
        """True if a worker must keep it to conform."""
        return self.strength == "must" and self.side == "worker"

    @property
    def binds_adapters(self) -> bool:
        """True if a framework adapter must keep it to conform."""
        return self.strength == "must" and self.side == "adapter"

    @property
    def is_testable(self) -> bool:
        """True if it needs a case."""
        return self.binds_servers or self.binds_workers or self.binds_adapters

    @property
    def summary(self) -> str:
        """The text on one line, without markup."""
        return " ".join(self.text.replace("`", "").split())


class Spec(msgspec.Struct, frozen=True):
    """All clauses in order of reading, and what could not be read."""

    folder: Path
    clauses: list[Clause]
    problems: list[str]

    def by_id(self) -> dict[str, Clause]:
        """Return the clauses by their ids."""
        return {clause.id: clause for clause in self.clauses}

    def page(self, name: str) -> str:
        """Return the text of a file; empty if it cannot be read."""
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""


def own_spec() -> Spec:
    """Read the specification that comes with this package."""
    return read_spec(data_path("spec"))


@cache
def own_clauses() -> Mapping[str, Clause]:
    """Return the clauses of that specification by their ids; they are read once."""
    return own_spec().by_id()


def read_spec(folder: Path) -> Spec:
    """Read every numbered file of a folder."""
    if not folder.is_dir():
        raise SpecError(f"no such folder: {folder}")
    found = sorted(path for path in folder.iterdir() if _FILE.fullmatch(path.name))
    if not found:
        raise SpecError(f"{folder} has no file of clauses, such as 01-envelope.md")
    clauses: list[Clause] = []
    problems: list[str] = []
    for path in found:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{path.name}: cannot be read: {error}")
            continue
        for start in _START.finditer(text):
            line = text.count("\n", 0, start.start()) + 1
            whole, _, behind = text[start.start() :].partition("\n\n")
            parts = _CLAUSE.fullmatch(whole.strip())
            if parts is None:
                problems.append(f"{path.name}:{line}: {start[1]} is not written as a clause")
                continue
            clauses.append(
                Clause(
                    id=parts["id"],
                    strength=parts["strength"],
                    side=parts["side"],
                    sources=tuple(part.strip() for part in parts["sources"].split(",")),
                    text=parts["text"],
                    file=path.name,
                    line=line,
                    marks=tuple(_marks(parts["marks"] or "")),
                    tables=tuple(_tables(_NEXT.split(behind, maxsplit=1)[0])),
                )
            )
    return Spec(folder, clauses, problems)


def _marks(text: str) -> Iterator[str]:
    return (mark for part in " ".join(text.split()).split(", ") if (mark := part.strip()))


def _tables(text: str) -> Iterator[Table]:
    for block in text.split("\n\n"):
        rows = [_cells(line) for line in block.strip().splitlines() if line.startswith("|")]
        if len(rows) > 1:
            yield Table(rows[0], tuple(rows[2:]))


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
