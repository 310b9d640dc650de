"""A server process on a fresh store, and a plain client: what every measurement stands on."""

import http.client
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from tests.postgres import Run, Server, programs_18

StoreKind = Literal["sqlite", "postgres"]
STORES: Final[tuple[StoreKind, ...]] = ("sqlite", "postgres")

REPORTS: Final = Path("build/benchmarks")
_LISTENS = re.compile(r"listens on http://[^:]+:(\d+)")
_JSON: Final = {"Content-Type": "application/json"}


class Client:
    """One connection, kept open; not for more than one thread."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request; answers the decoded body, raises unless it is a 2xx."""
        sent = None if body is None else msgspec.json.encode(body)
        self._connection.request(method, path, sent, _JSON)
        response = self._connection.getresponse()
        answer = msgspec.json.decode(response.read())
        if response.status // 100 != 2:
            raise RuntimeError(f"{method} {path} was answered {response.status}: {answer}")
        return answer


@contextmanager
def database(kind: StoreKind) -> Iterator[str]:
    """A fresh database that keeps its commits through a crash, gone at the end."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="ojs-bench-") as folder:
            yield f"{folder}/bench.db"
        return
    run = Run()
    try:
        server = Server(programs_18(run.folder), Path(run.folder) / "bench", durable=True)
        server.start()
        yield server.url
    finally:
        run.close()


class Served(msgspec.Struct, frozen=True):
    """A process that answers on a port."""

    port: int
    process: int

    def cpu_s(self) -> float:
        """Seconds of processor time that it has used; as Linux tells it."""
        stat = Path(f"/proc/{self.process}/stat").read_text(encoding="utf-8")
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(address: str) -> Iterator[int]:
    """The server as a process of its own; answers its port, ends it at the end."""
    with running("ojs_server", address) as served:
        yield served.port


@contextmanager
def running(module: str, address: str) -> Iterator[Served]:
    """A module that serves as a process of its own."""
    command = (sys.executable, "-m", module, "--port", "0", "--database", address)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if listens := _LISTENS.search(line):
                yield Served(int(listens[1]), process.pid)
                return
        raise RuntimeError(f"the server did not start; it exited {process.wait()}")
    finally:
        process.terminate()
        process.wait()


def timed(call: Any) -> float:
    """Milliseconds that a call takes."""
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1000


def write_down(name: str, found: Sequence[msgspec.Struct]) -> None:
    """Keep the figures of a run for programs."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    report = REPORTS / f"{name}.json"
    report.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2))
    print(f"written to {report}")
