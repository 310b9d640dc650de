"""The pages under docs/ agree with the program, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

from ojs_server.http.access.roles import ROLES
from ojs_server.observe.metrics import Metrics
from ojs_server.settings import (
    CONFIG_ENV,
    KEYS_ENV,
    NO_MIGRATE_ENV,
    TABLE,
    Setting,
    Settings,
    value_of,
)
from ojs_wire.values import format_duration
from tests.spec.clauses import ROOT

OPERATIONS = ROOT / "docs" / "operations.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
DECISIONS = ROOT / "docs" / "decisions"
NOTES = sorted(DECISIONS.glob("[0-9]*.md"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "spec").glob("*.md")),
]
# Settings outside the table: flag, variable, default.
APART = {
    ("--config", CONFIG_ENV, "none"),
    ("--no-migrate", NO_MIGRATE_ENV, "off"),
    ("", KEYS_ENV, "none"),
}
_ROW = re.compile(r"^\| (?:`(--[a-z-]+)` )?\| `([A-Z]+_\w+)` \| (\S+) \|", re.MULTILINE)
_NOTE = re.compile(r"^- \[(\d{4})\]\((\S+)\) (.+?)(?: \(superseded by \d{4}\))?$", re.MULTILINE)


def title_of(page: Path) -> str:
    """Return the first line of a page."""
    return page.read_text(encoding="utf-8").splitlines()[0]


def default_of(setting: Setting) -> str:
    """A default as the page writes it."""
    value = value_of(Settings(), setting)
    match setting.kind:
        case "flag":
            return "on" if value else "off"
        case "duration" | "retention":
            return "none" if value is None else format_duration(value)
        case "names":
            return ",".join(value)
        case _:
            return "none" if value in (None, ()) else str(value)


def test_the_table_of_settings_is_that_of_the_program() -> None:
    listed = _ROW.findall(OPERATIONS.read_text(encoding="utf-8"))
    known = {(setting.flag, setting.env, default_of(setting)) for setting in TABLE}
    assert set(listed) == known | APART
    assert len(listed) == len(set(listed))


def test_the_roles_are_those_of_the_program() -> None:
    section = OPERATIONS.read_text(encoding="utf-8").split("## Keys and roles")[1]
    assert re.findall(r"^\| `(\w+)` \|", section.split("\n## ")[0], re.MULTILINE) == list(ROLES)


def test_the_metrics_are_those_of_the_program() -> None:
    metrics = Metrics()
    metrics.observe_request("/", 200, 0.1)
    exposed = {
        name
        for name in re.findall(r"^# TYPE (\w+) ", metrics.render().decode(), re.MULTILINE)
        if not name.endswith("_created")
    }
    text = OPERATIONS.read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(ojs_\w+)` \|", text, re.MULTILINE)) == exposed


def test_every_path_that_the_architecture_names_exists() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    names = set(re.findall(r"`([a-z_/]+(?:\.py|/))`", text))
    roots = [
        ROOT / name for name in ("", "ojs_server", "ojs_server/http", "ojs_worker", "conformance")
    ]
    assert len(names) > 20
    assert [
        name for name in sorted(names) if not any((root / name).exists() for root in roots)
    ] == []


def test_the_architecture_names_every_folder_of_a_subject() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    folders = {
        folder.parent.name
        for layer in ("domain", "ops", "http")
        for folder in (ROOT / "ojs_server" / layer).glob("*/__init__.py")
    }
    assert len(folders) > 10
    assert [name for name in sorted(folders) if f"{name}/`" not in text] == []


def test_the_architecture_stays_short() -> None:
    assert len(ARCHITECTURE.read_text(encoding="utf-8").splitlines()) < 200


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page) == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `title` of all, 1\n[a](other.md) [b](#a-title-of-all-1) [c](#b) [d](page.md#c)\n"
        "```sh\n# no title\n```\n[e](#no-title) [f](https://example.org/#g) [g](page.md)\n"
    )
    assert dead_links(page) == ["other.md", "#b", "page.md#c", "#no-title"]


def dead_links(page: Path) -> list[str]:
    """Return the relative links of a page that lead to no file, or to no heading."""
    links = re.findall(r"\]\(([^)\s]+)\)", prose_of(page))
    return [link for link in links if not (link.startswith("http") or is_alive(page, link))]


def is_alive(page: Path, link: str) -> bool:
    """True if a relative link of a page leads to a file, and to a heading of it if it names one."""
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not heading or heading in headings_of(target))


def headings_of(page: Path) -> set[str]:
    """Return the anchors that a page's headings have on a web page."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}


def prose_of(page: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def test_decision_notes_are_numbered_without_gaps() -> None:
    names = [path.name for path in NOTES]
    assert [name[:4] for name in names] == [f"{n:04d}" for n in range(1, len(names) + 1)]
    for note in NOTES:
        assert title_of(note).startswith(f"# {note.name[:4]} ")


def test_the_index_lists_every_decision_note_by_its_title() -> None:
    index = re.sub(r"\n +", " ", (DECISIONS / "README.md").read_text(encoding="utf-8"))
    titles = [(note.name[:4], note.name, title_of(note)[7:]) for note in NOTES]
    assert _NOTE.findall(index) == titles


def test_the_glossary_is_in_order() -> None:
    words = re.findall(
        r"^\*\*(.+?)\*\*", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert words == sorted(words, key=str.lower)
