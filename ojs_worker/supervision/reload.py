"""The files of a program, and when they change: for `--reload`, in development."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

LOOK_S: Final = 0.3
_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages"})


async def changes(folder: Path) -> AsyncIterator[None]:
    """Yield after each change of the Python files below a folder, from the first step on."""
    before = snapshot(folder)
    while True:
        await asyncio.sleep(LOOK_S)
        now = await asyncio.to_thread(snapshot, folder)
        if now != before:
            before = now
            yield


def snapshot(folder: Path) -> dict[str, int]:
    """The Python files below a folder, with when each was written."""
    return dict(_files(folder))


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _SKIPPED]
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(place, name)
                try:
                    yield path, os.stat(path).st_mtime_ns
                except OSError:
                    # The file was removed meanwhile.
                    continue
