"""The environment of a server: clocks, randomness, threads, and the name of the process.

They are made once and passed down, so that a simulation can replace them. Pauses, timers and the
event loop's own threads belong to the loop.
"""

import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar

import msgspec

from ojs_wire.values import RandomBits, RisingIds, uuid7

Item = TypeVar("Item")
Taken = TypeVar("Taken", contravariant=True)


class Chance(msgspec.Struct, frozen=True):
    """A source of randomness."""

    bits: RandomBits
    random: Callable[[], float]
    # Takes a time and a number; returns that many ids of this millisecond, in ascending order.
    new_ids: Callable[[int, int], Sequence[str]]


class Inbox(Protocol[Taken]):
    """A queue of work for a thread."""

    def put(self, item: Taken) -> None:
        """Add an item."""

    def close(self) -> None:
        """Accept no more items, and wait until all are done."""


class Threads(Protocol):
    """Creates threads that work beside the event loop."""

    def executor(self, most: int, name: str) -> Executor:
        """Make an executor with a number of threads."""

    def inbox(self, name: str, do: Callable[[Item], None]) -> Inbox[Item]:
        """Make an inbox; `do` must not raise."""


class Environment(msgspec.Struct, frozen=True):
    """Everything that a server takes from the machine, except its store and connections."""

    chance: Chance
    # Returns a number of cryptographically random bytes.
    secret: Callable[[int], bytes]
    # Milliseconds since 1970.
    wall_ms: Callable[[], int]
    # Seconds of a monotonic clock.
    monotonic: Callable[[], float]
    threads: Threads
    host: str
    process: int

    def new_id(self) -> str:
        """Make a UUIDv7 of the present moment."""
        return uuid7(self.wall_ms(), self.chance.bits)

    def monotonic_ms(self) -> int:
        """Return the milliseconds of the stopwatch."""
        return int(self.monotonic() * 1000)


class ThreadInbox(Generic[Item]):
    """An inbox with its own thread. It is a daemon: if it hangs, the process can still end."""

    def __init__(self, name: str, do: Callable[[Item], None]) -> None:
        # None ends the thread; items are wrapped in tuples, so that an item may be None.
        self._items: SimpleQueue[tuple[Item] | None] = SimpleQueue()
        self._do = do
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, item: Item) -> None:
        """Add an item."""
        self._items.put((item,))

    def close(self) -> None:
        """Accept no more items, and wait until all are done."""
        self._items.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (item := self._items.get()) is not None:
            self._do(*item)
            # Release the item before waiting for the next one.
            del item


class MachineThreads:
    """Threads of the operating system."""

    def executor(self, most: int, name: str) -> Executor:
        """Make an executor with a number of threads."""
        return ThreadPoolExecutor(most, thread_name_prefix=name)

    def inbox(self, name: str, do: Callable[[Item], None]) -> Inbox[Item]:
        """Make an inbox with its own thread."""
        return ThreadInbox(name, do)


def chance(seed: int | None = None) -> Chance:
    """Randomness from a seed, or from one by the operating system."""
    source = random.Random(seed)
    return Chance(source.getrandbits, source.random, RisingIds(source.getrandbits).many)


def wall_ms() -> int:
    """Read the machine's clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def machine() -> Environment:
    """Return the environment of this process."""
    return Environment(
        chance=chance(),
        secret=secrets.token_bytes,
        wall_ms=wall_ms,
        monotonic=time.monotonic,
        threads=MachineThreads(),
        host=socket.gethostname(),
        process=os.getpid(),
    )
