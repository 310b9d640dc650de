"""Plays pages of the documentation as a reader does: writes their files, runs their commands, and
compares what they print.

Three things differ: the package is installed from the wheel of this checkout, with what the
environment of the tests has, instead of an index and by pip; ports are free ones; and places
outside the reader's folder are inside it.
"""

import re
import shlex
import venv
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.packaging.installing import lend_all, lend_ours
from tests.packaging.page import Block
from tests.packaging.shell import Shell, shell

# Pages install from a clone that is beside the reader's folder, and add extras to that.
OURS: Final = re.compile(r"^(?:\.\./)?ojs-reference(\[[a-z,]+\])?$")
# Folders of a machine that pages name files in.
PLACES: Final = ("/etc/", "/srv/", "/var/lib/ojs/")


@dataclass(frozen=True)
class Reader:
    """The reader of a page: has a folder, in which `shop` is the project that pages speak of."""

    folder: Path
    unpacked: Path
    request: pytest.FixtureRequest

    @property
    def shop(self) -> Path:
        """The folder of the project."""
        return self.folder / "shop"

    @property
    def environment(self) -> Path:
        """The environment of the project."""
        return self.shop / ".venv"

    @asynccontextmanager
    async def starts(
        self,
        command: str = "",
        variables: Mapping[str, str] | None = None,
        replaced: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Shell]:
        """A shell in the project, with a new environment that has what a `pip install` brings."""
        venv.create(self.environment, with_pip=False)
        if command:
            self.install(command)
        places = {place: f"{self.shop}{place}" for place in PLACES}
        async with shell(
            self.folder, self.environment, variables, {**(replaced or {}), **places}
        ) as run:
            await run.run("cd shop; export HOME=$PWD")
            yield run

    async def play(self, shown: Iterable[Block], run: Shell) -> None:
        """Do all that these blocks say."""
        for block in shown:
            if block.file is not None:
                self.write(block.file, run.here(block.text))
            elif block.kind == "sh":
                for commands in _parts(block.text):
                    if commands.startswith("pip install "):
                        self.install(commands)
                    else:
                        await run.run(commands)
            elif block.kind == "text":
                await run.says(block.text)
            elif block.kind == "json":
                await run.prints(block.text)
            else:
                raise AssertionError(f"a block of {block.kind}:\n{block.text}")
        assert not any("Traceback" in line for line in run.lines), run.output()

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project, or one of the machine, which is below the project too."""
        file = self.shop / name.removeprefix("~").lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def install(self, command: str) -> None:
        """Do what a `pip install` of a page does."""
        words = shlex.split(command)[2:]
        for ours in filter(None, map(OURS.match, words)):
            extras = frozenset({"", *(ours[1] or "[]")[1:-1].split(",")})
            lend_ours(self.unpacked, self.environment, extras)
        lend_all([word for word in words if not OURS.match(word)], self.environment)


def _parts(text: str) -> list[str]:
    """A block in parts, of which each that installs is one line."""
    return [part for part in re.split(r"^(pip install .*)\n", text, flags=re.MULTILINE) if part]
