"""Several worker processes, kept running by one that does no jobs itself.

Each process is started anew and not forked, so that it has no threads, locks and connections of
another one. It is replaced when it dies, when it is to be recycled, and with `--reload` when a file
has changed. Signals are passed on to all of them; when this process dies, they notice and end.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from ojs_worker.config import Config
from ojs_worker.environment import Environment, machine
from ojs_worker.lines import counted
from ojs_worker.running.health import HealthServer, Probed
from ojs_worker.running.metrics import Counts, text_of
from ojs_worker.running.signals import ENDING, FORCED_EXIT_S, MARGIN_S, SignalBox, forced_code
from ojs_worker.supervision.reload import changes
from ojs_worker.supervision.supervised import COUNTS, DESCRIPTOR, Status, Terms
from ojs_worker.transport.pauses import pause

log = logging.getLogger("ojs.worker")

# A process that ran for this long is restarted without a delay.
STEADY_S: Final = 10.0
# A process whose event loop is blocked for this long counts as stuck.
SILENT_S: Final = 30.0
# Extra time after the time limit of a process, before it is killed.
PATIENCE_S: Final = 2.0
LAST_WORDS_S: Final = 1.0
# Exit codes of a worker that cannot be started: a wrong setting, and a program that cannot be
# loaded.
CANNOT_START: Final = frozenset({2, 3})


class Process:
    """One worker process, and the socket to it."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        channel: socket.socket,
        environment: Environment,
        agree: Callable[[Terms], None],
    ) -> None:
        self.pid = process.pid
        self.ready = self.recycling = self.finished = self.outdated = False
        # Set when another process must replace this one.
        self.spent = asyncio.Event()
        self.code: int | None = None
        self._process = process
        self._channel = channel
        self._agree = agree
        self._monotonic = environment.monotonic
        self._begun = environment.monotonic()
        self._last_report: float | None = None
        self.counts = Counts()
        self.ended = asyncio.create_task(self._watch())

    @classmethod
    async def start(
        cls, arguments: Sequence[str], environment: Environment, agree: Callable[[Terms], None]
    ) -> "Process":
        """Start a process of the same command; `agree` is called with its settings."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "ojs_worker", *arguments),
                pass_fds=(theirs.fileno(),),
                env={**os.environ, DESCRIPTOR: str(theirs.fileno())},
                # Out of the terminal's foreground group: ^C and ^Z are for the supervisor.
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(process, ours, environment, agree)

    @property
    def started(self) -> bool:
        """True if its program has been loaded."""
        return self._last_report is not None

    @property
    def age_s(self) -> float:
        """Seconds since it was started."""
        return self._monotonic() - self._begun

    @property
    def stuck(self) -> bool:
        """True if its event loop stands still."""
        return self._last_report is not None and self._monotonic() - self._last_report > SILENT_S

    def forward(self, sig: signal.Signals) -> None:
        """Forward a signal, if the socket is still open."""
        with contextlib.suppress(OSError):
            self._channel.send(bytes([sig]))

    def kill(self) -> None:
        """End the process at once."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def _watch(self) -> None:
        listening = asyncio.create_task(self._listen())
        self.code = await self._process.wait()
        # The rest of its output is in the socket. Child processes may keep it open for longer.
        _, late = await asyncio.wait({listening}, timeout=LAST_WORDS_S)
        for task in late:
            task.cancel()
        self._channel.close()
        self.ready = False
        self.spent.set()

    async def _listen(self) -> None:
        loop, rest = asyncio.get_running_loop(), b""
        with contextlib.suppress(OSError):
            while chunk := await loop.sock_recv(self._channel, 1024):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.startswith(b"{"):
                        self._agree(msgspec.json.decode(line, type=Terms))
                    elif line.startswith(COUNTS):
                        self.counts = msgspec.json.decode(line[len(COUNTS) :], type=Counts)
                    else:
                        self._handle(Status(line))

    def _handle(self, status: Status) -> None:
        self._last_report = self._monotonic()
        self.ready = status is Status.READY
        self.finished = self.finished or status is Status.FINISHED
        if status is Status.RECYCLING:
            self.recycling = True
            self.spent.set()


class Supervisor:
    """Keeps as many worker processes as the settings say."""

    def __init__(self, arguments: Sequence[str], config: Config, folder: Path | None) -> None:
        self._arguments = tuple(arguments)
        self._config = config
        # The folder to watch for changes; None to watch none.
        self._folder = folder
        self._environment = machine()
        self._processes: set[Process] = set()
        self._quiet = False
        self._ending = asyncio.Event()
        self._changed = asyncio.Event()
        # The settings of the newest process, and an event that is set once it has sent them.
        self._terms = Terms.of(config)
        self._agreed = asyncio.Event()
        # Set when a process has ended.
        self._room = asyncio.Event()
        self._ever_started = False
        self._forced_by: signal.Signals | None = None
        self._code = 0
        # The counts of processes that have ended.
        self._past = Counts()

    async def run(self, box: SignalBox) -> int:
        """Run until a signal ends all processes, or each has ended by itself; returns the exit
        code."""
        loop = asyncio.get_running_loop()

        def listen(sig: signal.Signals) -> None:
            loop.call_soon_threadsafe(self._obey, sig, box.is_forcing(sig))

        box.listen(listen)
        background = [asyncio.create_task(self._answer_probes())]
        if self._folder is not None:
            background.append(asyncio.create_task(self._watch(self._folder)))
        try:
            await asyncio.gather(*(self._keep() for _ in range(self._config.workers)))
            await asyncio.gather(*(process.ended for process in self._processes))
        finally:
            box.listen(None)
            for task in background:
                task.cancel()
            self._kill()
        return self._code if self._forced_by is None else forced_code(self._forced_by)

    async def _keep(self) -> None:
        """Keep one process running, until all end or the server has ended this one."""
        failures = 0
        while not self._ending.is_set():
            process = await self._start()
            await process.spent.wait()
            if process.recycling or process.outdated:
                failures = 0
                await self._have_room()
            elif process.finished:
                return
            elif not self._ending.is_set():
                failures = 0 if process.age_s > STEADY_S else failures + 1
                if not await self._bear(process, failures):
                    return

    async def _have_room(self) -> None:
        """Wait while too many processes that are being recycled still have jobs."""
        while len(self._processes) >= 2 * self._config.workers and not self._ending.is_set():
            self._room.clear()
            await self._room.wait()

    async def _start(self) -> Process:
        process = await Process.start(self._arguments, self._environment, self._agree)
        self._processes.add(process)
        process.ended.add_done_callback(lambda _: self._ended(process))
        if self._quiet:
            process.forward(signal.SIGTSTP)
        if self._ending.is_set():
            # The signal came during the start.
            process.forward(signal.SIGTERM)
        return process

    def _ended(self, process: Process) -> None:
        self._processes.discard(process)
        self._past.add(msgspec.structs.replace(process.counts, running=0, connected=0))
        self._room.set()
        self._ever_started = self._ever_started or process.started
        if process.code and (process.finished or self._ending.is_set()):
            self._code = max(self._code, process.code if process.code in CANNOT_START else 1)

    async def _bear(self, process: Process, failures: int) -> bool:
        """Wait before a process that has died is replaced; False if that is pointless."""
        code = process.code or 0
        if self._folder is not None:
            # Probably a mistake in a file: wait for the next change.
            await self._first(self._changed, None)
            return True
        started = self._ever_started or any(process.started for process in self._processes)
        if code in CANNOT_START and not started:
            self._code = code
            self._end(signal.SIGTERM)
            return False
        wait_s = pause(failures, self._environment.random()) if failures else 0.0
        log.error(
            "worker process %d %s; another one is started in %.1f s, and its jobs run again when "
            "their leases have ended",
            process.pid,
            f"was killed by signal {-code}" if code < 0 else f"exited with code {code}",
            wait_s,
        )
        await self._first(self._ending, wait_s)
        return True

    async def _first(self, event: asyncio.Event, seconds: float | None) -> None:
        """Wait for an event or the end of all, at most so long."""
        waiting = [asyncio.create_task(awaited.wait()) for awaited in (event, self._ending)]
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()

    def _agree(self, terms: Terms) -> None:
        self._terms = terms
        self._agreed.set()

    async def _answer_probes(self) -> None:
        """Answer probes where the processes say, and elsewhere once a changed program says so."""
        health = HealthServer(self._probed, lambda: text_of(self._counts()))
        open_at = None
        try:
            while True:
                await self._agreed.wait()
                self._agreed.clear()
                host, port = self._terms.health_host, self._terms.health_port
                if (host, port) == open_at:
                    continue
                await health.close()
                if port is not None:
                    await health.start(host, port)
                open_at = host, port
        except OSError as error:
            log.error("probes cannot be answered: %s", error)
            self._code = 3
            self._end(signal.SIGTERM)
        finally:
            await health.close()

    async def _watch(self, folder: Path) -> None:
        async for _ in changes(folder):
            log.info("a file has changed, starting anew")
            for process in self._processes:
                process.outdated = True
                process.forward(signal.SIGTERM)
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()

    def _obey(self, sig: signal.Signals, forcing: bool) -> None:
        if sig in ENDING:
            self._end(sig, forcing=forcing)
            return
        self._quiet = sig == signal.SIGTSTP
        self._forward(sig)

    def _end(self, sig: signal.Signals, *, forcing: bool = False) -> None:
        limit_s = self._terms.grace_s + MARGIN_S
        if forcing:
            self._forced_by = self._forced_by or sig
            limit_s = FORCED_EXIT_S
        else:
            log.info("ending %s", counted(len(self._processes), "worker process", "es"))
        self._ending.set()
        self._room.set()
        self._forward(sig)
        # A process that is stopped or blocked does not end by itself.
        asyncio.get_running_loop().call_later(limit_s + PATIENCE_S, self._kill)

    def _forward(self, sig: signal.Signals) -> None:
        for process in self._processes:
            process.forward(sig)

    def _kill(self) -> None:
        for process in self._processes:
            log.error("worker process %d does not end, and is killed", process.pid)
            self._code = 1
            process.kill()

    def _counts(self) -> Counts:
        whole = Counts()
        for counts in (self._past, *(process.counts for process in self._processes)):
            whole.add(counts)
        return whole

    def _probed(self) -> Probed:
        ready = sum(process.ready for process in self._processes)
        stuck = sum(process.stuck for process in self._processes)
        details = {"workers": self._config.workers, "ready": ready, "stuck": stuck}
        return Probed(live=not stuck, ready=ready > 0, details=details)
