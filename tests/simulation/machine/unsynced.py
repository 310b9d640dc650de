"""The part of a file that was written since its last sync, and what a power loss leaves of it."""

import random
from collections.abc import Callable
from typing import Final

# Old contents are kept by this many bytes, the size of a page of memory.
CHUNK: Final = 4096
# Sizes of what a disk writes whole or not at all.
_SECTORS: Final = (512, CHUNK)
# Shares of the unsynced sectors that survive a power loss.
_SHARES: Final = (0.0, 0.2, 0.5, 0.8, 1.0)

Read = Callable[[int, int], bytes]


class Unsynced:
    """The content of a file at its last sync, as far as it was changed since."""

    def __init__(self, size: int, new: bool) -> None:
        # True for a file that was created and not synced since: its name is not on the disk.
        self.new = new
        # True if the process that had it is dead.
        self.dead = False
        self._size = size
        # Old contents of what was written since the last sync, by number of the chunk.
        self._old: dict[int, bytes] = {}
        # Likewise for writes that the system forgot when a sync failed.
        self._lost: dict[int, bytes] = {}

    def keep(self, read: Read, start: int, end: int) -> None:
        """Keep what is there at the last sync, before it is overwritten."""
        old, size = self._old, self._size
        for chunk in range(start // CHUNK, -(-end // CHUNK)):
            if chunk in old:
                continue
            begin = chunk * CHUNK
            if chunk in self._lost:
                # The whole page is to be written now.
                old[chunk] = self._lost.pop(chunk)
            elif begin >= size:
                old[chunk] = b""
            else:
                old[chunk] = read(min(CHUNK, size - begin), begin)

    def synced(self, size: int) -> None:
        """Note that what was written is on the disk."""
        self._old.clear()
        self._size = size
        self.new = False

    def lose(self) -> None:
        """Note that a sync has failed: the writes are not tried again."""
        self._lost.update(self._old)
        self._old.clear()

    def survivors(self, data: bytes, chance: random.Random) -> bytes:
        """Return what a power loss leaves of a file with this content.

        Of each sector either the last content survives or that of the last sync. Where a file has
        grown and its content is lost, there are zeros.
        """
        sector, share = chance.choice(_SECTORS), chance.choice(_SHARES)
        smaller, larger = sorted((self._size, len(data)))
        size = chance.choice((self._size, len(data), chance.randint(smaller, larger)))
        if len(data) < self._size:
            # To cut a file is one change of the file system.
            size = chance.choice((self._size, len(data)))
        kept = {**self._old, **self._lost}
        chunks = max(-(-larger // CHUNK), 1 + max(kept, default=0))
        left = bytearray(data.ljust(chunks * CHUNK, b"\0"))
        for chunk, old in sorted(kept.items()):
            before = old.ljust(CHUNK, b"\0")
            for start in range(0, CHUNK, sector):
                if chance.random() >= share:
                    place = chunk * CHUNK + start
                    left[place : place + sector] = before[start : start + sector]
        return bytes(left[:size])
