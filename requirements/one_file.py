"""Builds the conformance suite as one file: `make conformance-pyz`.

python requirements/one_file.py dist/ojs-conformance.pyz [cp311-x86_64 …]

It has the wheel's `conformance`, and what the lock requires, for each named Python and machine.
Files that are equal for all of them are there once, in `lib`, and unpacked beside the others. The
same sources always give the same file.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
LOCK: Final = ROOT / "requirements" / "conformance.txt"
START: Final = ROOT / "requirements" / "one_file_start.py"
TAGS: Final = tuple(
    f"cp{python}-{machine}"
    for python in ("311", "312", "313", "314")
    for machine in ("x86_64", "aarch64")
)
COMMON: Final = "lib"
PLATFORMS: Final = ("manylinux2014", "manylinux_2_17", "manylinux_2_28")
EARLIEST: Final = 315532800  # the first moment that a zip can hold: 1980-01-01


def build(place: Path, tags: Iterable[str]) -> None:
    """Write the file, for these Pythons and machines."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        ours = _ours(folder / "wheel")
        lock = folder / "lock.txt"
        lock.write_text(_without_markers(LOCK.read_text(encoding="utf-8")), encoding="utf-8")
        trees = {tag: _installed(folder / tag, lock, tag) for tag in tags}
    files = {f"{COMMON}/{name}": content for name, content in ours.items()}
    for tag, tree in trees.items():
        for name, content in tree.items():
            is_common = all(other.get(name) == content for other in trees.values())
            files[f"{COMMON if is_common else tag}/{name}"] = content
    files["__main__.py"] = START.read_bytes()
    files["tags"] = " ".join(trees).encode()
    digest = sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode() + files[name])
    files["digest"] = digest.hexdigest().encode()
    place.parent.mkdir(parents=True, exist_ok=True)
    _write(place, files)


def _ours(folder: Path) -> dict[str, bytes]:
    """Build the wheel, and return the files of the suite."""
    _run("-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        return {
            name: packed.read(name)
            for name in packed.namelist()
            if name.startswith("conformance/") or ".dist-info/" in name
        }


def _without_markers(lock: str) -> str:
    """Return the lock without markers, which pip would compare with the Python that runs this."""
    return re.sub(r" ; [^\\\n]*", " ", lock)


def _installed(folder: Path, lock: Path, tag: str) -> dict[str, bytes]:
    """Have pip install the lock as for another Python and machine; return the files."""
    python, _, machine = tag.partition("-")
    platforms = (f"--platform={platform}_{machine}" for platform in PLATFORMS)
    _run(
        *("-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-compile"),
        *("--no-deps", "--require-hashes", "--only-binary=:all:", f"--target={folder}"),
        *("--implementation=cp", f"--python-version={python.removeprefix('cp')}", *platforms),
        f"--requirement={lock}",
    )
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] != "bin"
    }


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def _write(place: Path, files: dict[str, bytes]) -> None:
    seconds = max(int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST)), EARLIEST)
    moment = time.gmtime(seconds)[:6]
    with place.open("wb") as out:
        out.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            for name in sorted(files):
                entry = zipfile.ZipInfo(name, moment)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                packed.writestr(entry, files[name])
    place.chmod(0o755)


if __name__ == "__main__":
    build(Path(sys.argv[1]), sys.argv[2:] or TAGS)
