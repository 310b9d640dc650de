"""Starts `ojs-conformance` out of the one file that holds it, as its `__main__.py`.

Parts of it are compiled, and Python loads such parts from real files only. So the first start
unpacks them into a folder of the user, named by the digest of the contents; later ones find it.
"""

import atexit
import os
import platform
import shutil
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

PROGRAM = "ojs-conformance"
COMMON = "lib"


def main() -> int:
    """Unpack what is not there yet, and run the command; return its exit code."""
    with zipfile.ZipFile(Path(__file__).parent) as packed:
        found = packed.read("tags").decode().split()
        mine = tag()
        if mine not in found:
            print(f"{PROGRAM}: {refusal(mine, found)}", file=sys.stderr)
            return 2
        try:
            folder = unpacked(packed, mine)
        except OSError as error:
            print(f"{PROGRAM}: cannot unpack {error.filename}: {error.strerror}", file=sys.stderr)
            return 2
    sys.path[0] = str(folder)
    from conformance.command import main as run

    return run()


def tag() -> str:
    """Return the Python and the machine that parts have to be compiled for."""
    libc = "" if platform.libc_ver()[0] == "glibc" else f"-{sysconfig.get_platform()}-without-glibc"
    python = f"{sys.implementation.name}{sys.version_info[0]}{sys.version_info[1]}{sys.abiflags}"
    return f"{python.replace('cpython', 'cp')}-{platform.machine()}{libc}"


def refusal(mine: str, found: list[str]) -> str:
    """Return what to do on another Python or machine."""
    return (
        f"this file has compiled parts for {', '.join(found)}, on Linux with glibc, and "
        f"here is {mine}. Use one of these, or install the package: "
        "pip install 'ojs-reference[conformance]'"
    )


def unpacked(packed: zipfile.ZipFile, mine: str) -> Path:
    """Return the folder with the parts, which are unpacked if they are not there."""
    name = f"{packed.read('digest').decode()[:32]}-{mine}"
    try:
        folder = cache() / name
        if folder.is_dir():
            return folder
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=folder.parent))
    except (OSError, RuntimeError):
        # There is no home, or it cannot be written: for this run only.
        folder = fresh = Path(tempfile.mkdtemp(prefix=f"{PROGRAM}-"))
        atexit.register(shutil.rmtree, fresh, ignore_errors=True)
    for entry in packed.infolist():
        above, _, entry.filename = entry.filename.partition("/")
        if above in (mine, COMMON) and entry.filename:
            packed.extract(entry, fresh)
    if fresh != folder:
        try:
            # All at once, so that no start finds half of it.
            fresh.rename(folder)
        except OSError:
            shutil.rmtree(fresh, ignore_errors=True)
            if not folder.is_dir():
                raise
    return folder


def cache() -> Path:
    """Return the user's folder of things that can be made again."""
    place = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(place) if place.startswith("/") else Path.home() / ".cache") / PROGRAM


if __name__ == "__main__":
    sys.exit(main())
