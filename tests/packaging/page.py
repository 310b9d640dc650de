"""Pages of the documentation: their blocks, and what they show of an output."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
_FENCE: Final = "```"
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z")
# A block of one of these kinds whose first line names a file is that file.
_FILES: Final = ("python", "ini", "toml", "yaml", "nginx")
_NAME: Final = re.compile(r"# (\S+\.\w+)\n")


@dataclass(frozen=True, eq=False)
class Block:
    """A block of code of a page, and the heading that it stands under."""

    kind: str
    text: str
    section: str = ""

    @property
    def file(self) -> str | None:
        """The file that it is, if it is one."""
        named = _NAME.match(self.text)
        return named[1] if named and self.kind in _FILES else None


class Page:
    """The blocks of a page that are still to be played."""

    def __init__(self, name: str) -> None:
        self.left = blocks(name)

    def take(self, section: str | None = None, kind: str | None = None) -> list[Block]:
        """Take the blocks of a section, or of a kind, or all, in their order; each only once."""
        taken = [
            block
            for block in self.left
            if section in (None, block.section) and kind in (None, block.kind)
        ]
        assert taken, f"no block of {kind or 'any kind'} is left under {section!r}"
        self.left = [block for block in self.left if block not in taken]
        return taken

    def one(self, section: str, kind: str) -> Block:
        """Take the only block of a kind in a section."""
        (block,) = self.take(section, kind)
        return block


def blocks(page: str) -> list[Block]:
    """All blocks of a page, in their order."""
    found: list[Block] = []
    section, kind, body = "", None, ""
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines(keepends=True):
        is_fence = line.lstrip().startswith(_FENCE)
        if kind is None:
            if is_fence:
                kind, body = line.strip().removeprefix(_FENCE), ""
            elif line.startswith("#"):
                section = line.lstrip("#").strip()
        elif is_fence:
            found.append(Block(kind, dedent(body), section))
            kind = None
        else:
            body += line
    assert kind is None, f"a block of {page} does not end"
    return found


def values(text: str) -> list[Any]:
    """The JSON values that stand one after the other in a text."""
    decoder, found, text = json.JSONDecoder(), [], text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].strip()
    return found


def missing(shown: Any, given: Any, where: str = "$") -> list[str]:
    """Return the places where an answer differs from the shown one; ids and times may differ."""
    match shown, given:
        case dict(), dict():
            return [
                fault
                for name, value in shown.items()
                for fault in (
                    missing(value, given[name], f"{where}.{name}")
                    if name in given
                    else [f"{where}.{name} is not there"]
                )
            ]
        case list(), list():
            if len(shown) != len(given):
                return [f"{where} has {len(given)} items, not {len(shown)}"]
            pairs = enumerate(zip(shown, given, strict=True))
            return [fault for i, (a, b) in pairs for fault in missing(a, b, f"{where}[{i}]")]
        case str(), str():
            for form in (_UUID, _TIME):
                if form.fullmatch(shown):
                    return [] if form.fullmatch(given) else [f"{where} is {given!r}"]
    return [] if shown == given else [f"{where} is {given!r}, not {shown!r}"]
