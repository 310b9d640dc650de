"""A terminal so far as `ojs` writes to one: whole lines, the cursor up and down, styles."""

import re
from typing import Final

_PART: Final = re.compile(r"\x1b\[(?P<words>[?0-9;]*)(?P<verb>[A-Za-z])|(?P<control>[\r\n])")


class Terminal:
    """Takes what a program writes; `lines` are what it shows, styles kept."""

    def __init__(self, height: int) -> None:
        self.lines = [""] * height
        self._row = 0
        # True if the next text replaces its line.
        self._begins = True
        self._rest = ""

    def feed(self, written: str) -> None:
        """Take what was written; a sequence may come in two pieces."""
        written, self._rest = self._rest + written, ""
        place = 0
        while place < len(written):
            found = _PART.search(written, place)
            end = len(written) if found is None else found.start()
            text = written[place:end]
            if found is None and "\x1b" in text:
                text, _, cut = text.partition("\x1b")
                self._rest = "\x1b" + cut
            self._put(text)
            if found is None:
                return
            self._obey(found)
            place = found.end()

    def _put(self, text: str) -> None:
        if not text:
            return
        self.lines[self._row] = text if self._begins else self.lines[self._row] + text
        self._begins = False

    def _obey(self, found: "re.Match[str]") -> None:
        words, verb = found["words"], found["verb"]
        if found["control"] == "\n":
            self._go(self._row + 1)
        elif found["control"] == "\r":
            self._begins = True
        elif verb == "A":
            self._go(self._row - int(words or 1))
        elif verb == "H":
            self._go(int((words or "1").partition(";")[0]) - 1)
        elif verb == "J":
            self.lines = [""] * len(self.lines)
        elif verb == "K" and (words == "2" or self._begins):
            self.lines[self._row] = ""
            self._begins = True
        elif verb == "m":
            style = found[0]
            line = "" if self._begins else self.lines[self._row]
            self.lines[self._row], self._begins = line + style, False

    def _go(self, row: int) -> None:
        if row >= len(self.lines):
            self.lines = [*self.lines[1:], ""]
            row = len(self.lines) - 1
        self._row = max(row, 0)
        self._begins = True
