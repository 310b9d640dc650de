"""Run a server, a worker that is stopped in the middle of 200 jobs, and one that finishes them.

Everything is real: two programs, a SQLite file, signals. At the end every job is accounted for.
"""

import argparse
import asyncio
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from ojs_worker import Client, Job, RetryPolicy

START_S: Final = 30
END_S: Final = 50
RETRY: Final = RetryPolicy(max_attempts=4, initial_interval="200ms", jitter=False)
_LISTENS = re.compile(r"listens on (http://\S+)")


class Kind(msgspec.Struct, frozen=True):
    """One kind of job: of 200, how many there are, and how each of them has to end."""

    name: str
    share: int
    ends: str
    what: str
    args: tuple[Any, ...] = ()
    timeout: str | None = None


KINDS: Final = (
    Kind("echo", 50, "completed", "gives its arguments back", ("hello",)),
    Kind("noop", 30, "completed", "does nothing"),
    Kind("slow", 50, "completed", "takes 0.6 s in the event loop", (600,)),
    Kind("block", 20, "completed", "takes 0.4 s in a thread", (400,)),
    Kind("compute", 10, "completed", "counts primes in a process", (30_000,)),
    Kind("fail_once", 15, "completed", "fails once"),
    Kind("fail_twice", 10, "completed", "fails twice"),
    Kind("fail_always", 5, "discarded", "fails until its attempts are used up"),
    Kind("discard", 5, "discarded", "gives up by itself"),
    Kind("timeout", 5, "discarded", "runs over its 0.3 s", timeout="300ms"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play it; 0 where every job ended as it should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200, help="how many jobs, default 200")
    jobs = parser.parse_args(arguments).jobs
    with tempfile.TemporaryDirectory(prefix="ojs-demo-") as folder:
        return asyncio.run(play(jobs, Path(folder)))


async def play(count: int, folder: Path) -> int:
    """Start everything, tell the first worker to end, wait, and count."""
    began = time.monotonic()
    database = ("--database", str(folder / "jobs.db"), "--port", "0", "--log-level", "warning")
    async with program("ojs_server", *database) as server:
        url = await address(server)
        log(began, f"a server listens on {url}")
        async with Client(url) as client:
            kinds = await enqueue(client, count)
            log(began, f"{len(kinds)} jobs are enqueued")
            options = ("demo", "--url", url, "--grace", "0.4", "--log-level", "error")
            async with program("ojs_worker", *options) as first:
                log(began, f"worker one works (process {first.pid})")
                await until_ended(client, kinds, len(kinds) // 3)
                first.send_signal(signal.SIGTERM)
                begun = time.monotonic()
                code = await first.wait()
                took = time.monotonic() - begun
                ended = sum(job.ended for job in await read(client, kinds))
                log(began, f"worker one was sent SIGTERM, and left after {took:.1f} s with {code}")
                log(began, f"{ended} jobs have ended, {len(kinds) - ended} are left")
            async with program("ojs_worker", *options) as second:
                log(began, f"worker two works (process {second.pid})")
                await until_ended(client, kinds, len(kinds))
                second.send_signal(signal.SIGTERM)
                log(began, f"worker two was sent SIGTERM, and left with {await second.wait()}")
            well = table(kinds, await read(client, kinds))
    log(began, "every job is accounted for" if well else "SOME JOBS DID NOT END AS THEY SHOULD")
    return 0 if well else 1


async def enqueue(client: Client, count: int) -> dict[str, Kind]:
    """Enqueue the jobs of all kinds, mixed; return the kind of each by its id."""
    drawn = [kind for kind in KINDS for _ in range(max(1, kind.share * count // 200))]
    step = 7 if len(drawn) % 7 else 11
    mixed = [drawn[n * step % len(drawn)] for n in range(len(drawn))]
    requests = []
    for kind in mixed:
        request = client.request(f"test.{kind.name}", kind.args, retry=RETRY)
        if kind.timeout is not None:
            request = client.request(
                f"test.{kind.name}", kind.args, retry=RETRY, timeout=kind.timeout
            )
        requests.append(request)
    jobs = await client.enqueue_many(requests)
    return {job.id: kind for job, kind in zip(jobs, mixed, strict=True)}


async def read(client: Client, kinds: dict[str, Kind]) -> list[Job]:
    """All jobs as they are now."""
    return [await client.get(job_id) for job_id in kinds]


async def until_ended(client: Client, kinds: dict[str, Kind], count: int) -> None:
    """Wait until a number of jobs have ended."""
    open_ids = list(kinds)
    async with asyncio.timeout(END_S):
        while len(kinds) - len(open_ids) < count:
            await asyncio.sleep(0.2)
            open_ids = [job_id for job_id in open_ids if not (await client.get(job_id)).ended]


def table(kinds: dict[str, Kind], jobs: list[Job]) -> bool:
    """Print the outcomes of each kind; return True if all are as expected."""
    by_kind: dict[str, list[Job]] = {kind.name: [] for kind in KINDS}
    for job in jobs:
        by_kind[kinds[job.id].name].append(job)
    columns = {"jobs": 6, "completed": 11, "discarded": 11, "attempts": 10, "given back": 12}
    head = f"{'kind':12}" + "".join(f"{name:>{width}}" for name, width in columns.items())
    print(f"\n{head}\n{'-' * len(head)}")
    well = True
    for kind in KINDS:
        found = by_kind[kind.name]
        ends = Counter(job.state for job in found)
        attempts = sum(job.attempt for job in found)
        back = sum(error.get("type") == "shutdown" for job in found for error in job.errors or ())
        right = ends[kind.ends] == len(found)
        well = well and right
        print(
            f"{kind.name:12}{len(found):6}{ends['completed']:11}{ends['discarded']:11}"
            f"{attempts:10}{back:12}  {kind.what}{'' if right else '  <-- WRONG'}"
        )
    print(f"{'-' * len(head)}\n{'all':12}{len(jobs):6}\n")
    return well


@asynccontextmanager
async def program(module: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """One of the programs, ended at the latest with the block."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OJS_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        stdout=asyncio.subprocess.PIPE,
        env={**environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(START_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


async def address(server: asyncio.subprocess.Process) -> str:
    """Return the address that the server says it listens on."""
    assert server.stdout is not None
    async with asyncio.timeout(START_S):
        async for line in server.stdout:
            if found := _LISTENS.search(line.decode()):
                return found[1]
    raise RuntimeError("the server did not start")


def log(began: float, text: str) -> None:
    """One line of the story."""
    print(f"{time.monotonic() - began:5.1f} s  {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
