"""Output of commands: tables on a terminal, tabs in a pipe, JSON, YAML and CSV for programs."""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TextIO

import msgspec

from ojs_cli.text import cell, identity, printable

if TYPE_CHECKING:
    from rich.table import Table

    from ojs_cli.console import Console

PIPED_WIDTH: Final = 100_000
Json = dict[str, Any]


class Column(msgspec.Struct, frozen=True):
    """One column: its head, and the text and the raw value of an item in it."""

    head: str
    # The text for people, from the item and the present time.
    show: Callable[[Json, int], str]
    # The value for pipes, if it differs.
    raw: Callable[[Json], Any] | None = None
    wide: bool = False
    right: bool = False
    # Shortened before other columns if the terminal is narrow.
    cut: bool = False
    # The styles of the words that the text may begin with.
    states: Mapping[str, str] = {}
    # The text for narrow terminals.
    narrow: Callable[[str], str] | None = None

    def style_of(self, text: str) -> str:
        """Return the style of a text in this column."""
        return self.states.get(text.split(" ")[0], "")


def column(
    head: str,
    path: str,
    *,
    wide: bool = False,
    right: bool = False,
    cut: bool = False,
    states: Mapping[str, str] | None = None,
) -> Column:
    """Make a column of a member, or of a member of a member: `error.type`."""
    names = path.split(".")

    def read(item: Json) -> Any:
        return _at(item, names)

    return Column(head, lambda item, _: cell(read(item)), read, wide, right, cut, states or {})


def _at(item: Json, names: Sequence[str]) -> Any:
    """Return a member of a member; None if there is none."""
    value: Any = item
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def colours(stream: TextIO, choice: str, environ: Mapping[str, str]) -> bool:
    """Return True if colours are to be used: by the option, else the environment, else on a
    terminal."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"


class Output:
    """Writes results, in one form for the whole command."""

    def __init__(
        self,
        form: str,
        stream: TextIO,
        coloured: bool,
        *,
        now_ms: Callable[[], int],
        width: str | None = None,
        fields: Sequence[str] = (),
    ) -> None:
        """Set up the output; with `fields`, only these members of items are written."""
        self.form = "ndjson" if form == "jsonl" else form
        self.coloured = coloured
        self.is_terminal = stream.isatty()
        self._stream = stream
        self._now_ms = now_ms
        self._fields = fields
        self._has_head = False
        self._width = int(width) if width and width.isdecimal() and int(width) else None

    @property
    def for_people(self) -> bool:
        """True if a table is written, and not JSON or the like."""
        return self.form in ("table", "wide")

    @property
    def now_ms(self) -> int:
        """The present moment."""
        return self._now_ms()

    @property
    def width(self) -> int:
        """The number of columns of the terminal, or of lines in a pipe."""
        if self._width is not None:
            return self._width
        if not self.is_terminal:
            return PIPED_WIDTH
        from shutil import get_terminal_size

        return get_terminal_size().columns

    def listing(
        self, columns: Sequence[Column], items: Sequence[Json], page: Json | None = None
    ) -> None:
        """Write a list. `page` is the server's information about it."""
        if self.form == "csv":
            self._write_head(columns)
        if self.form == "json":
            more = {name: value for name, value in (page or {}).items() if value is not None}
            self._write(_json({"items": [*map(self._picked, items)], **more}, indent=2))
        elif self.form == "yaml":
            self._write(_yaml([*map(self._picked, items)]))
        elif self.for_people:
            self.table(columns, items)
        else:
            for item in items:
                self.item(columns, item)

    def item(self, columns: Sequence[Column], item: Json) -> None:
        """Write one of many at once, as it comes."""
        if self.form in ("json", "ndjson"):
            self._write(_json(self._picked(item)))
        elif self.form == "yaml":
            self._write("---\n" + _yaml(self._picked(item)))
        elif self.form == "csv":
            self._write_head(columns)
            self._write_csv(self._raw(column, item) for column in self.chosen(columns))
        elif self.form == "id":
            self._write(printable(str(identity(item))))
        else:
            self._write("\t".join(self._raw(column, item) for column in self.chosen(columns)))
        self._stream.flush()

    def table(self, columns: Sequence[Column], items: Sequence[Json]) -> None:
        """Write a table, or lines with tabs into a pipe."""
        if self.is_terminal or self.coloured:
            self.print(self.grid(columns, items))
        else:
            for item in items:
                self._write("\t".join(self._raw(column, item) for column in self.chosen(columns)))

    def whole(self, item: Json, lines: Iterable[tuple[str, Any]]) -> None:
        """Write one thing: its members for programs, these lines for people."""
        if self.form == "json":
            self._write(_json(self._picked(item), indent=2))
        elif self.form == "csv":
            self.item([column(name, name) for name in self._fields or item], item)
        elif self._fields and self.for_people:
            self.table((), [item])
        elif not self.for_people:
            self.item((), item)
        else:
            shown = [(name, text) for name, value in lines if (text := cell(value))]
            size = max((len(name) for name, _ in shown), default=0)
            for name, text in shown:
                self.write_line(f"{name:{size}}  {text}", style="")

    def document(self, value: Any) -> None:
        """Write a JSON document."""
        self._write(_yaml(value) if self.form == "yaml" else _json(value, indent=2))

    def write_line(self, text: str, *, style: str = "dim") -> None:
        """Write a line for people; programs see nothing of it."""
        if not self.for_people:
            return
        if self.coloured and style:
            from rich.text import Text

            self.print(Text(text, style=style))
        else:
            self._write(text)

    def note(self, text: str) -> None:
        """Write a line beside the answer."""
        print(printable(text), file=sys.stderr)

    def chosen(self, columns: Sequence[Column]) -> list[Column]:
        """The columns of this form, or those of the fields that were asked for."""
        if self._fields:
            return [column(name.upper(), name) for name in self._fields]
        wide = self.form in ("wide", "csv")
        return [one for one in columns if wide or not one.wide]

    def grid(self, columns: Sequence[Column], items: Sequence[Json]) -> "Table":
        """Make the table that a terminal is shown."""
        from ojs_cli.tables import grid

        return grid(self.chosen(columns), items, self.now_ms, self.width)

    def print(self, *what: Any) -> None:
        """Write what rich draws."""
        self.console.print(*what)

    @property
    def console(self) -> "Console":
        """The console of rich for this output: the sixteen colours of the user's theme."""
        from ojs_cli.console import Console

        return Console(
            file=self._stream,
            force_terminal=self.coloured or self.is_terminal,
            color_system="standard" if self.coloured else None,
            no_color=not self.coloured,
            width=self.width,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=False,
        )

    def _picked(self, item: Json) -> Json:
        """Return the fields of an item that were asked for; all of them by default."""
        if not self._fields:
            return item
        return {name: _at(item, name.split(".")) for name in self._fields}

    def _write_head(self, columns: Sequence[Column]) -> None:
        """Write the names of the columns once."""
        if not self._has_head:
            self._has_head = True
            self._write_csv(self._fields or [one.head.lower() for one in self.chosen(columns)])

    def _write_csv(self, cells: Iterable[str]) -> None:
        csv.writer(self._stream, lineterminator="\n").writerow(cells)

    def _raw(self, column: Column, item: Json) -> str:
        if column.raw is None:
            return column.show(item, self.now_ms)
        return cell(column.raw(item))

    def _write(self, text: str) -> None:
        self._stream.write(text if text.endswith("\n") else text + "\n")


def _json(value: Any, indent: int | None = None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    # The remaining control characters are inside strings, where escapes are allowed.
    return text if text.replace("\n", "").isprintable() else json.dumps(value, indent=indent)


def _yaml(value: Any) -> str:
    import yaml

    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1_000_000)
    if text.replace("\n", "").isprintable():
        return str(text)
    return str(yaml.safe_dump(value, sort_keys=False, width=1_000_000))


def close_quietly() -> None:
    """Redirect output after a closed pipe, so that Python prints no error at its end."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
