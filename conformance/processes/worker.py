"""The worker under test: a process made by a command, with the settings that a case wants."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from conformance.processes.program import Program, Spawn, Tail, past_proxies, spawn

QUEUES = ("conformance-high", "conformance-low")
CONCURRENCY = 3
# Windows lacks some of them, but judges only servers.
SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGTERM", "SIGINT", "SIGTSTP", "SIGCONT")
    if hasattr(signal, name)
)
# Limit for things that should happen at once, on a machine under load.
PATIENCE_S = 10.0
# Limit for the end after the grace period, so that both fit into 30 seconds.
MARGIN_S = 5.0


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """The times that a worker keeps, in seconds; `--time-scale` makes them shorter."""

    scale: float = 1.0
    beat_s: float = 5.0
    grace_s: float = 25.0
    poll_s: float = 1.0
    patience_s: float = PATIENCE_S


def times(scale: float = 1.0, patience_s: float = PATIENCE_S) -> Times:
    """Return the protocol's times, scaled."""
    usual = Times()
    return Times(
        patience_s=patience_s,
        scale=scale,
        beat_s=usual.beat_s * scale,
        grace_s=usual.grace_s * scale,
        poll_s=usual.poll_s * scale,
    )


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a judged worker: the server's URL, its queues and concurrency, and its times."""

    url: str
    beat_s: float
    grace_s: float
    poll_s: float
    queues: tuple[str, ...] = QUEUES
    concurrency: int = CONCURRENCY

    def words(self) -> dict[str, str]:
        """Return the values for the placeholders of a command, by name."""
        return {
            "url": self.url,
            "queues": ",".join(self.queues),
            "concurrency": str(self.concurrency),
            **{name: f"{seconds:g}" for name, seconds in self._seconds().items()},
            **{f"{name}_ms": f"{seconds * 1000:.0f}" for name, seconds in self._seconds().items()},
        }

    def _seconds(self) -> dict[str, float]:
        return {"beat": self.beat_s, "grace": self.grace_s, "poll": self.poll_s}

    def environ(self, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return the settings as environment variables: our own names and those workers read."""
        words = self.words()
        own = {f"OJS_CONFORMANCE_{name.upper()}": word for name, word in words.items()}
        return {
            **own,
            "OJS_URL": words["url"],
            "OJS_BACKEND_URL": words["url"],
            "OJS_QUEUES": words["queues"],
            "OJS_CONCURRENCY": words["concurrency"],
            "OJS_GRACE_PERIOD": words["grace"],
            "OJS_SHUTDOWN_GRACE_PERIOD": f"{words['grace']}s",
            "OJS_SHUTDOWN_TIMEOUT": words["grace"],
            "OJS_HEARTBEAT_INTERVAL": words["beat"],
            "OJS_POLL_INTERVAL": words["poll"],
            **past_proxies(inherited),
        }


def filled(command: Sequence[str], settings: Settings) -> list[str]:
    """The command with its placeholders filled in; other braces stay as they are."""
    parts = list(command)
    for name, word in settings.words().items():
        parts = [part.replace(f"{{{name}}}", word) for part in parts]
    return parts


@contextlib.contextmanager
def signals_for_children() -> Iterator[None]:
    """Restore the default handling of signals for workers: a child ignores those that its parent
    ignores."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ignored = [each for each in SIGNALS if signal.getsignal(each) is signal.SIG_IGN]
    for each in ignored:
        # Unlike SIG_IGN, a handler is not inherited by programs that are started.
        signal.signal(each, lambda number, frame: None)
    try:
        yield
    finally:
        for each in ignored:
            signal.signal(each, signal.SIG_IGN)


class WorkerProcess:
    """One process of the worker under test."""

    def __init__(
        self,
        command: Sequence[str],
        settings: Settings,
        on_end: Callable[[], None] = lambda: None,
        spawn: Spawn = spawn,
    ) -> None:
        self.settings = settings
        self._on_end = on_end
        self._watch: asyncio.Task[None] | None = None
        self._program = Program(filled(command, settings), settings.environ(), spawn)

    @property
    def code(self) -> int | None:
        """Its exit code as a shell counts, 128 and a signal that killed it; None while it runs."""
        return _as_shell(self._program.code)

    @property
    def alive(self) -> bool:
        """True until it has ended."""
        return self._program.code is None

    @property
    def tail(self) -> Tail:
        """The end of its output."""
        return self._program.tail

    async def start(self) -> None:
        """Start it."""
        await self._program.start()
        self._watch = asyncio.create_task(self._watched())

    def send(self, which: signal.Signals) -> None:
        """Send a signal to the process alone, as a supervisor does."""
        self._program.send(which)

    async def stop_still(self) -> None:
        """Stop it and all that it started with SIGSTOP, and return when they stand still."""
        await self._program.stop_still()

    def go_on(self) -> None:
        """Send SIGCONT to all that was stopped."""
        self._program.go_on()

    async def ended(self, within_s: float | None = None) -> int | None:
        """Wait for its end; the exit code, or None where it runs on."""
        return _as_shell(await self._program.ended(within_s))

    async def close(self) -> None:
        """Kill it, and everything that it started."""
        await self._program.kill()
        if self._watch is not None:
            await self._watch

    async def _watched(self) -> None:
        await self._program.ended()
        self._on_end()


def _as_shell(code: int | None) -> int | None:
    return 128 - code if code is not None and code < 0 else code
