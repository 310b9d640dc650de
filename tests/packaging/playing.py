"""Plays pages of the documentation as a reader does: writes their files, runs their commands, and
compares what they print.

Two things differ: the package is installed from the wheel of this checkout, with what the
environment of the tests has, instead of an index; and ports are free ones.
"""

import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.packaging.installing import install_into, lend_all
from tests.packaging.page import Block
from tests.packaging.shell import Shell

# Pages install from a clone that is beside the reader's folder.
OURS: Final = re.compile(r"^\.\./ojs-reference(\[[a-z,]+\])?$")


async def play(shown: Iterable[Block], shell: Shell, environment: Path, wheel: Path) -> None:
    """Do all that these blocks say, in the folder of the environment."""
    for block in shown:
        if block.file is not None:
            file = environment.parent / block.file
            file.parent.mkdir(exist_ok=True)
            file.write_text(block.text.split("\n", 1)[1], encoding="utf-8")
        elif block.kind == "sh":
            for commands in _parts(block.text):
                if commands.startswith("pip install "):
                    install(environment, commands, wheel)
                else:
                    await shell.run(commands)
        elif block.kind == "text":
            await shell.says(block.text)
        elif block.kind == "json":
            await shell.prints(block.text)
        else:
            raise AssertionError(f"a block of {block.kind}:\n{block.text}")
    assert not any("Traceback" in line for line in shell.lines), shell.told()


def install(environment: Path, command: str, wheel: Path) -> None:
    """Do what a `pip install` of a page does."""
    words = shlex.split(command)[2:]
    for ours in filter(None, map(OURS.match, words)):
        extras = frozenset({"", *(ours[1] or "[]")[1:-1].split(",")})
        install_into(environment, wheel, extras)
    lend_all([word for word in words if not OURS.match(word)], environment)


def _parts(text: str) -> list[str]:
    """A block in parts, of which each that installs is one line."""
    return [part for part in re.split(r"^(pip install .*)\n", text, flags=re.MULTILINE) if part]
