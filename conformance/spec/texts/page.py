"""Reads one text: its headings, prose, tables and blocks of code, each with its line."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

_HEADING: Final = re.compile(r"(#{1,6}) (.*)")
_NUMBERED: Final = re.compile(r"(?:Appendix |Section )?([0-9A-Z](?:[0-9.]*[0-9])?)(?:[.:]? |$)")
_CELLS: Final = re.compile(r"(?<!\\)\|")
_FENCE: Final = "```"


class Heading(msgspec.Struct, frozen=True):
    """A heading, with the number of its section and its name in links."""

    line: int
    number: str
    anchor: str


class Block(msgspec.Struct, frozen=True):
    """A block of code."""

    line: int
    language: str
    text: str


class Row(msgspec.Struct, frozen=True):
    """A row of a table: its cells by the heads of their columns, in lower case."""

    line: int
    cells: dict[str, str]


class Page(msgspec.Struct, frozen=True):
    """One text, by its name in the folder."""

    name: str
    headings: tuple[Heading, ...]
    prose: tuple[tuple[int, str], ...]
    blocks: tuple[Block, ...]
    rows: tuple[Row, ...]

    @property
    def numbers(self) -> list[str]:
        """The numbers of its sections."""
        return [heading.number for heading in self.headings if heading.number]


def read_page(folder: Path, path: Path) -> Page:
    """Read a text of a folder."""
    prose: list[tuple[int, str]] = []
    blocks: list[Block] = []
    opened: tuple[int, str] | None = None
    content: list[str] = []
    for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
        fence = line.strip().startswith(_FENCE)
        if opened is None and fence:
            opened, content = (number, line.strip().strip("`")), []
        elif opened is not None and fence:
            blocks.append(Block(opened[0], opened[1], "\n".join(content)))
            opened = None
        elif opened is not None:
            content.append(line)
        else:
            prose.append((number, line))
    return Page(
        name=path.relative_to(folder).as_posix(),
        headings=tuple(_headings(prose)),
        prose=tuple(prose),
        blocks=tuple(blocks),
        rows=tuple(_rows(prose)),
    )


def read_pages(folder: Path) -> list[Page]:
    """Read all texts of a folder."""
    return [read_page(folder, path) for path in sorted(folder.rglob("*.md"))]


def _headings(prose: list[tuple[int, str]]) -> Iterator[Heading]:
    times: Counter[str] = Counter()
    for line, text in prose:
        if match := _HEADING.fullmatch(text):
            title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", match[2].strip())
            words = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", title).lower()).replace(" ", "-")
            again = f"-{times[words]}" if times[words] else ""
            times[words] += 1
            number = _NUMBERED.match(title)
            yield Heading(line, number[1] if number else "", words + again)


def _rows(prose: list[tuple[int, str]]) -> Iterator[Row]:
    head: list[str] = []
    last = 0
    for line, text in prose:
        if not text.startswith("|"):
            continue
        cells = [cell.strip() for cell in _CELLS.split(text.strip().strip("|"))]
        if line != last + 1:
            head = [re.sub(r"[*`]", "", cell).lower() for cell in cells]
        elif not all(set(cell) <= set(":- ") for cell in cells):
            yield Row(line, dict(zip(head, cells, strict=False)))
        last = line
