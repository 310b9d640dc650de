"""The terminal as a screen: its size, its keys, and the output of changed lines only."""

import io
import os
import re
import select
import signal
import sys
import termios
import tty
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from rich.text import Text

_NAMES: Final = {
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "\x1b[H": "home",
    "\x1b[F": "end",
    "\t": "tab",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x1b": "esc",
}
_KEY: Final = re.compile("\x1b(?:\\[[0-9;]*[A-Za-z~]|O[A-Z])|.", re.DOTALL)
_ENTER: Final = "\x1b[?1049h\x1b[?25l"
_LEAVE: Final = "\x1b[?25h\x1b[?1049l"


def keys(typed: str) -> list[str]:
    """Return the keys that were typed, by name; unknown ones are left out."""
    found = (_NAMES.get(match[0], match[0]) for match in _KEY.finditer(typed))
    return [key for key in found if (len(key) > 1 and key[0] != "\x1b") or key.isprintable()]


class Screen:
    """The alternate screen of a terminal, for the length of a block."""

    def __init__(self, coloured: bool) -> None:
        self._input = sys.stdin.fileno()
        self._output = sys.stdout
        self._coloured = coloured
        self._shown: list[str] = []
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._input)
        self._handler = signal.signal(signal.SIGWINCH, self._resized)
        tty.setcbreak(self._input)
        self._put(_ENTER)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._put(_LEAVE)
        termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)
        signal.signal(signal.SIGWINCH, self._handler)
        os.close(self._read)
        os.close(self._write)

    @property
    def size(self) -> tuple[int, int]:
        """Return the numbers of columns and lines."""
        size = os.get_terminal_size(self._output.fileno())
        return size.columns, size.lines

    def wake(self) -> None:
        """End a wait for keys, from any thread."""
        os.write(self._write, b".")

    def wait(self, seconds: float) -> list[str]:
        """Wait for keys, for a call to wake up, or for so long."""
        ready, _, _ = select.select([self._input, self._read], [], [], max(seconds, 0))
        if self._read in ready:
            os.read(self._read, 1024)
        if self._input not in ready:
            return []
        return keys(os.read(self._input, 1024).decode(errors="replace"))

    def show(self, lines: list["Text"]) -> None:
        """Write the lines that are not there already."""
        painted = [self._painted(line) for line in lines]
        if len(painted) != len(self._shown):
            self._shown = [""] * len(painted)
            self._put("\x1b[2J")
        changed = "".join(
            f"\x1b[{place};1H{line}\x1b[K"
            for place, (line, before) in enumerate(zip(painted, self._shown, strict=True), 1)
            if line != before
        )
        self._shown = painted
        if changed:
            self._put(changed)

    def _painted(self, line: "Text") -> str:
        from ojs_cli.console import Console

        stream = io.StringIO()
        console = Console(
            file=stream,
            force_terminal=True,
            color_system="standard" if self._coloured else None,
            no_color=not self._coloured,
            width=10_000,
            highlight=False,
        )
        console.print(line, end="")
        return stream.getvalue()

    def _put(self, text: str) -> None:
        self._output.write(text)
        self._output.flush()

    def _resized(self, number: int, frame: FrameType | None) -> Any:
        self._shown = []
        self.wake()
