"""A worker process as its supervisor sees it: signals come over a socket, and its status goes back.

The process ignores the signals of the system, so that each counts once however it was sent. When
the socket closes, the supervisor is gone, and the worker shuts down as after SIGTERM.
"""

import asyncio
import contextlib
import os
import signal
import socket
import threading
from enum import Enum
from typing import Final

import msgspec

from ojs_wire.codec import encode
from ojs_worker.config import Config
from ojs_worker.running.lifetime import Running
from ojs_worker.running.signals import SignalBox, ignore_signals

# The environment variable with the socket's file descriptor.
DESCRIPTOR: Final = "OJS_WORKER_SUPERVISOR_FD"
PULSE_S: Final = 1.0
# Prefix of a line with the counts of the process.
COUNTS: Final = b"#"


class Terms(msgspec.Struct, frozen=True):
    """The settings of a worker that its supervisor keeps, sent before the first status.

    A program may set them itself, and the supervisor does not load it.
    """

    health_host: str
    health_port: int | None
    grace_s: float

    @classmethod
    def of(cls, config: Config) -> "Terms":
        """Return these settings out of all."""
        return cls(config.health_host, config.health_port, config.grace_s)


class Status(Enum):
    """State of a worker process, sent to its supervisor every second and when it changes."""

    READY = b"r"  # fetches jobs
    BUSY = b"b"  # its event loop runs, but it fetches no jobs at present
    RECYCLING = b"w"  # fetches no more jobs, and ends after the last one
    FINISHED = b"l"  # has ended in order, on a signal or a directive of the server


class Supervised:
    """The worker's end of the socket."""

    @classmethod
    def inherited(cls) -> "Supervised | None":
        """Return the socket that a supervisor has left to this process; None without one."""
        number = os.environ.pop(DESCRIPTOR, None)
        return None if number is None else cls(socket.socket(fileno=int(number)))

    def __init__(self, channel: socket.socket) -> None:
        channel.set_inheritable(False)
        self._channel = channel
        self._counted = False
        # Bytes that did not fit into the socket.
        self._rest = b""

    def obey(self, box: SignalBox) -> None:
        """Take signals from the supervisor, and not from the system."""
        ignore_signals()

        def listen() -> None:
            with contextlib.suppress(OSError):
                while word := self._channel.recv(1):
                    box.deliver(signal.Signals(word[0]))
            box.deliver(signal.SIGTERM)

        threading.Thread(target=listen, name="ojs-supervisor", daemon=True).start()

    async def report(self, running: Running) -> None:
        """Tell the supervisor how the worker is, until cancelled."""
        recycling = running.engine.recycling
        try:
            await self._report(running, recycling)
        finally:
            self._count(running)

    async def _report(self, running: Running, recycling: asyncio.Event) -> None:
        while True:
            self._count(running)
            if recycling.is_set():
                self.send_status(Status.RECYCLING)
                await asyncio.sleep(PULSE_S)
                continue
            self.send_status(Status.READY if running.ready else Status.BUSY)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PULSE_S):
                    await recycling.wait()

    def agree(self, config: Config) -> None:
        """Tell the supervisor the settings that it keeps."""
        self._counted = config.health_port is not None
        self._send(encode(Terms.of(config)))

    def _count(self, running: Running) -> None:
        """Tell the supervisor what was counted, for the metrics that it answers."""
        if self._counted and not self._rest:
            self._send(COUNTS + encode(running.engine.counts))

    def send_status(self, status: Status) -> None:
        """Send the status to the supervisor, if it listens."""
        self._send(status.value)

    def _send(self, line: bytes) -> None:
        self._rest += line + b"\n"
        with contextlib.suppress(OSError):
            sent = self._channel.send(self._rest, socket.MSG_DONTWAIT)
            self._rest = self._rest[sent:]
