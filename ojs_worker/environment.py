"""The environment of the SDK: clocks, randomness, threads, and the name of the process.

Clients and workers make them once and pass them down, so that a simulation can replace them. Pauses
and timers belong to the event loop.
"""

import os
import random
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from ojs_wire.values import RandomBits, RisingIds, uuid7

if TYPE_CHECKING:
    import asyncio

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
# The monotonic clock of Linux stands still while the system is suspended; this one does not.
_AWAKE: Final = getattr(time, "CLOCK_BOOTTIME", None)


class Pool(Protocol):
    """Threads for calls that block."""

    def run(self, call: Callable[[], Any]) -> "asyncio.Future[Any]":
        """Run a call; the future has its value or its exception."""

    def close(self) -> None:
        """Let each thread end after its current call."""


class Environment(msgspec.Struct, frozen=True):
    """All that the SDK takes from the machine, except connections and processes."""

    random_bits: RandomBits
    # A random number between 0 and 1.
    random: Callable[[], float]
    # The id of a job or workflow for a moment; each is above the one before it.
    rising_id: Callable[[int], str]
    # Milliseconds since 1970.
    wall_ms: Callable[[], int]
    # Seconds of a monotonic clock.
    monotonic: Callable[[], float]
    # Seconds since some moment in the past, including time in which the machine was suspended.
    elapsed: Callable[[], float]
    # Makes a pool of threads of this name; called in the event loop that awaits them.
    pool: Callable[[str], Pool]
    # True if a thread watches for handlers that block the event loop.
    watched: bool
    host: str
    process: int

    def now(self) -> datetime:
        """Return the present moment."""
        return _EPOCH + timedelta(milliseconds=self.wall_ms())

    def new_id(self) -> str:
        """Make a UUIDv7 of the present moment, for a worker or a call."""
        return uuid7(self.wall_ms(), self.random_bits)


def machine() -> Environment:
    """Return the environment of this process.

    Ids are made from what the operating system gives, so that processes that were forked after a
    client was made have ids of their own.
    """
    bits = random.SystemRandom().getrandbits
    return Environment(
        random_bits=bits,
        random=random.random,
        rising_id=RisingIds(bits),
        wall_ms=lambda: time.time_ns() // 1_000_000,
        monotonic=time.monotonic,
        elapsed=_elapsed,
        pool=_threads,
        watched=True,
        host=socket.gethostname(),
        process=os.getpid(),
    )


def _threads(name: str) -> Pool:
    from ojs_worker.threads import ThreadPool  # programs without an event loop never need it

    return ThreadPool(name)


def _elapsed() -> float:
    return time.monotonic() if _AWAKE is None else time.clock_gettime(_AWAKE)
