"""The server under test: a process whose log is checked afterwards."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx

ROOT: Final = Path(__file__).parents[2]
V1: Final = "/ojs/v1"
# Words in a log that show an unexpected failure.
SUSPECT: Final = re.compile(
    r"Traceback|failed unexpectedly|Task exception|never (retrieved|awaited)"
)
_START_S: Final = 60.0


class Served:
    """A server, its process and its log."""

    def __init__(self, process: subprocess.Popen[str], url: str, log: Path) -> None:
        self._process = process
        self._log = log
        self.url = url
        self.host, _, port = url.removeprefix("http://").partition(":")
        self.port = int(port)

    def open_again(self) -> None:
        """End a maintenance that a shot has begun, so that the others reach more than that."""
        httpx.post(f"{self.url}{V1}/admin/maintenance", json={"enabled": False}, timeout=60)

    def faults(self) -> list[str]:
        """Return the faults of the server at the end: it is gone or deaf, its log has a failure."""
        if (code := self._process.poll()) is not None:
            return [f"the server has ended with {code}"]
        found = []
        status = httpx.get(f"{self.url}{V1}/health", timeout=60).status_code
        if status != 200:
            found.append(f"its health is answered with {status}")
        lines = self._log.read_text(errors="replace").splitlines()
        bad = [number for number, line in enumerate(lines) if SUSPECT.search(line)]
        if bad:
            shown = "\n".join(lines[max(0, bad[0] - 2) : bad[0] + 40])
            found.append(f"{len(bad)} failures in its log; the first one is\n{shown}")
        return found


@contextmanager
def served(database: str, log: Path) -> Iterator[Served]:
    """Start a server on a database, and end it."""
    command = [sys.executable, "-m", "ojs_server", "--port", "0", "--database", database]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [*command, "--conformance", "--max-wait-ms", "50", "--log-level", "warning"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            announced = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
            if announced is None:
                raise RuntimeError(f"the server does not start: {log.read_text()}")
            yield Served(process, announced[0], log)
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
