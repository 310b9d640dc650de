"""The walks of CONTRIBUTING.md lead through files and names that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ojs_server.http.routes import ROUTES
from tests.spec.clauses import ROOT

# Folders that paths may be relative to.
BASES = (ROOT, ROOT / "ojs_server", ROOT / "ojs_server" / "store")
# Placeholders, and words of SQL and the shell.
NO_NAMES = frozenset(
    {
        '@fault("OJS-…")',
        "ALTER TABLE",
        "BEGIN",
        'COLLATE "C"',
        "NNNN_name.sql",
        "make faults ARGS=its-name",
        "ojs-conformance spec check",
    }
)
_CALL = re.compile(r"[A-Z]+ /\S*")
_NAME = re.compile(r"\w+(?:\.\w+)*")
_PATH = re.compile(r"[\w./-]*(?:/|\.(?:py|sql|md|yaml))[\w./-]*")


def walks() -> dict[str, str]:
    """Return the text of each walk of the guide, by the thing that it explains how to add."""
    told = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = told.split("\n## How to …\n")[1].split("\n## ")[0]
    parts = re.split(r"^\*\*add an? (.+)\*\*$", part, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def found(path: str) -> list[Path]:
    """The files and folders that a path may mean; a bare name means all files of that name."""
    if "/" not in path:
        return [ROOT / path] if (ROOT / path).exists() else list(_anywhere(path))
    return [base / path for base in BASES if (base / path).exists()]


def missing(walk: str) -> list[str]:
    """Return the names in a walk of the guide that do not exist."""
    said = [span for span in re.findall(r"`([^`]+)`", walk) if span not in NO_NAMES]
    calls = {f"{route.method} {route.path}" for route in ROUTES}
    paths = {span: found(span) for span in said if _PATH.fullmatch(span)}
    texts = [text for places in paths.values() for place in places for text in _texts(place)]
    words = [set(re.findall(r"\w+", text)) for text in texts]

    def is_there(span: str) -> bool:
        if span in paths:
            return bool(paths[span])
        if _CALL.fullmatch(span):
            return span in calls
        if _NAME.fullmatch(span):
            return any(known.issuperset(span.split(".")) for known in words)
        return any(span in text for text in texts)

    return [span for span in said if not is_there(span)]


def test_the_walks_are_there() -> None:
    assert walks().keys() >= {"operation", "endpoint", "column", "migration", "clause", "setting"}


@pytest.mark.parametrize("subject", walks())
def test_a_walk_mentions_only_what_there_is(subject: str) -> None:
    assert missing(walks()[subject]) == []


@pytest.mark.parametrize(
    ("walk", "lost"),
    [
        ("`ojs_server/ops/none.py`", "ojs_server/ops/none.py"),
        ("`Prioritise` in `ops/jobs/priority.py`", "Prioritise"),
        ("`Prioritize` in `ops/workers/claim.py`", "Prioritize"),
        ("`lifecycle.required` in `ojs_server/domain/`", "lifecycle.required"),
        ("`PUT /ojs/v1/admin/jobs/{id}`", "PUT /ojs/v1/admin/jobs/{id}"),
        ("`none.sql`", "none.sql"),
        ("`Job(none)` in `sqlite/sql/jobs.sql`", "Job(none)"),
    ],
)
def test_what_there_is_not_is_found(walk: str, lost: str) -> None:
    assert missing(walk) == [lost]


def _anywhere(name: str) -> Iterator[Path]:
    for folder in ("ojs_server", "ojs_worker", "ojs_wire", "tests"):
        yield from (ROOT / folder).rglob(name)


def _texts(place: Path) -> Iterator[str]:
    """The text of a file, or of all below a folder, with the names of the files."""
    for file in [place] if place.is_file() else sorted(place.rglob("*")):
        if file.is_file() and file.suffix in (".py", ".sql", ".md", ".yaml"):
            yield f"{file.stem} {file.read_text(encoding='utf-8')}"
