"""Reading the clauses, sources and decisions out of the protocol text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "spec"
FILE = re.compile(r"(\d\d)-[a-z]+(?:-[a-z]+)*\.md")
# Anything that looks like the start of a clause, so that a misspelled one is noticed.
_STARTS = re.compile(r"^\*\*OJS.*(?:\n(?!\n|\*\*OJS).*)*", re.MULTILINE)
_CLAUSE = re.compile(
    r"\*\*(?P<id>OJS-[A-Z]{3}-\d{3})\*\* "
    r"\((?P<strength>[a-z]+), (?P<side>[a-z]+); (?P<sources>[^();]+)(?:; [^()]+)?\) (?P<text>.+)"
)
_LETTERS = re.compile(r"^Clauses of this file: `OJS-([A-Z]{3})`\.$", re.MULTILINE)
_DECISION = re.compile(r"^\| (\d+) \| (.+) \|$", re.MULTILINE)
_SOURCE = re.compile(r"^\| `([a-z-]+)` \|", re.MULTILINE)


@dataclass(frozen=True)
class Clause:
    """A numbered requirement on servers, clients or workers."""

    file: str
    id: str
    strength: str
    side: str
    sources: tuple[str, ...]
    text: str


def files() -> list[Path]:
    """The topic files in reading order."""
    return sorted(path for path in SPEC.glob("*.md") if path.name[0].isdigit())


def letters_of(path: Path) -> str:
    """The three letters that a file announces."""
    found = _LETTERS.findall(path.read_text(encoding="utf-8"))
    assert len(found) == 1, f"{path.name} must say once which letters its clauses have"
    return str(found[0])


def parse(name: str, text: str) -> Iterator[Clause]:
    """The clauses of one file's text; raises ValueError where one is not well formed."""
    for start in _STARTS.finditer(text):
        line = " ".join(start[0].split())
        match = _CLAUSE.fullmatch(line)
        if match is None:
            raise ValueError(f"{name}: this is no well-formed clause: {line[:90]}")
        yield Clause(
            name,
            match["id"],
            match["strength"],
            match["side"],
            tuple(match["sources"].split(", ")),
            match["text"],
        )


def all_clauses() -> list[Clause]:
    """Every clause of the protocol text."""
    return [
        clause for path in files() for clause in parse(path.name, path.read_text(encoding="utf-8"))
    ]


def decisions() -> dict[int, tuple[str, ...]]:
    """The rows of the settled disagreements, by number."""
    rows = _DECISION.findall((SPEC / "decisions.md").read_text(encoding="utf-8"))
    found = {int(number): tuple(cells.split(" | ")) for number, cells in rows}
    assert len(found) == len(rows), "two decisions have the same number"
    return found


def sources() -> set[str]:
    """The source tags that the introduction lists."""
    return set(_SOURCE.findall((SPEC / "README.md").read_text(encoding="utf-8")))
