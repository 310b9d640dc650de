"""The tables of the nouns of `ojs`, made of what their modules declare."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

from ojs_cli import commands
from ojs_cli.grammar import Entry, Section

FILE: Final = Path(commands.__file__).parents[1] / "nouns.py"
HEAD: Final = '''"""The nouns of `ojs` by sections of the help, their aliases and verbs as flags.

Made by `make reference` of the entries that the modules in `commands/` declare.
"""

from collections.abc import Mapping
from typing import Final
'''


def entries() -> dict[str, Entry]:
    """Return what each noun declares, in the order of the help."""
    found = {
        # The module of a keyword, such as `import`, ends in an underscore.
        module.name.rstrip("_"): import_module(f"{commands.__name__}.{module.name}").ENTRY
        for module in iter_modules(commands.__path__)
    }
    order = list(Section)
    # Modules come in the order of their names.
    return dict(
        sorted(found.items(), key=lambda item: (order.index(item[1].section), item[1].place))
    )


def text() -> str:
    """Return the module with the tables, formatted as all others are."""
    nouns = entries()
    sections = {
        section.value: {
            noun: entry.summary for noun, entry in nouns.items() if entry.section is section
        }
        for section in Section
    }
    aliases = {alias: noun for noun, entry in nouns.items() for alias in entry.aliases}
    flags = {noun: entry.flags for noun, entry in nouns.items() if entry.flags}
    tables = f"""{HEAD}
SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {sections}
ALIASES: Final[Mapping[str, str]] = {aliases}
FLAGS: Final[Mapping[str, Mapping[str, str]]] = {flags}
"""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"],
        input=tables,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
