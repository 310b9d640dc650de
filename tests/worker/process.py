"""A real `ojs-worker` process in a process group of its own."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.http.waiting import until

ROOT = Path(__file__).parents[2]
END_S = 30


class WorkerProcess:
    """One process, its output, and its exit code."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.output: list[str] = []
        self._reader = asyncio.create_task(self._read())

    @property
    def pid(self) -> int:
        """The id of the process, and of its group."""
        return self._process.pid

    def send(self, sig: signal.Signals) -> None:
        """Send a signal to the worker."""
        self._process.send_signal(sig)

    async def take(self, sig: signal.Signals) -> None:
        """Send a signal, and wait until no thread of the worker has it pending.

        Of two that wait together, another thread may take the second before the first is taken.
        """
        self.send(sig)
        await until(lambda: not self._waits(sig))

    def _waits(self, sig: signal.Signals) -> bool:
        """Tell whether a signal is pending, as Linux shows it."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace")
        masks = re.findall(r"^(?:SigPnd|ShdPnd):\s*(\w+)$", status, re.MULTILINE)
        return any(int(mask, 16) >> (sig - 1) & 1 for mask in masks)

    def send_all(self, sig: signal.Signals) -> None:
        """Send a signal to the whole group, as a terminal does."""
        os.killpg(self.pid, sig)

    async def code(self) -> int:
        """Wait for its end."""
        code = await asyncio.wait_for(self._process.wait(), END_S)
        await self._reader
        return code

    def alive(self) -> bool:
        """True if the process runs; False if it is stopped or has ended."""
        status = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8")
        return status.rpartition(")")[2].split()[0] in "RSD"

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self.output.append(line.decode(errors="replace").rstrip())

    async def kill(self) -> None:
        """End it for good, and everything that it started in its group."""
        if self._process.returncode is None:
            self.send_all(signal.SIGKILL)
        await self.code()


@asynccontextmanager
async def worker(
    url: str,
    *options: str,
    target: str = "ojs_worker.demo:worker",
    command: Sequence[str] = (),
    folder: Path | str = ROOT,
    **environ: Any,
) -> AsyncIterator[WorkerProcess]:
    """A worker with short times, killed at the end if it still runs; `command` are the module and
    arguments that start another one than the target's."""
    settings = {
        "OJS_URL": url,
        "OJS_GRACE_PERIOD": "1",
        "OJS_HEARTBEAT_INTERVAL": "0.3",
        "OJS_POLL_INTERVAL": "0.05",
        "OJS_LONG_POLL": "5",
        "OJS_CONCURRENCY": "2",
        "PYTHONUNBUFFERED": "1",
        **{name: str(value) for name, value in environ.items()},
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OJS_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *(command or ("ojs_worker", "run", target)), *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=folder,
        env={**inherited, **settings},
        start_new_session=True,
    )
    started = WorkerProcess(process)
    try:
        yield started
    except BaseException:
        print("\n".join(started.output))
        raise
    finally:
        await started.kill()
