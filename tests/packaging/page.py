"""Pages of the documentation: their blocks, and what they show of an output."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
_BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z")
# A block of one of these kinds whose first line names a file is that file.
_FILES: Final = ("python", "ini", "toml")
_NAME: Final = re.compile(r"# (\S+\.\w+)\n")


@dataclass(frozen=True)
class Block:
    """A block of code of a page."""

    kind: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that it is, if it is one."""
        named = _NAME.match(self.text)
        return named[1] if named and self.kind in _FILES else None


def blocks(page: str, section: str | None = None) -> list[Block]:
    """The blocks of a page, or of one of its sections, in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if section is not None:
        found = re.search(
            rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
        )
        assert found, f"{page} has no section {section!r}"
        text = found[1]
    return [Block(kind, body) for kind, body in _BLOCK.findall(text)]


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
