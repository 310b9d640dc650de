"""``python -m tests.e2e.doors``: the table of what clients with a key see beside strangers.

For each port and each thing that strangers do there: the slowest and the median call of a client
with a key, at a server with the strangers and at one without them, called in turn. The strangers
have a process of their own, so that their work does not delay the client's.
"""

import argparse
import asyncio
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from multiprocessing.synchronize import Event
from pathlib import Path

from tests.e2e.keyholders import CLIENTS, KEY, Call, port_of
from tests.e2e.node import Node, running
from tests.e2e.strangers import PORTS, Strangers, strangers
from tests.e2e.test_connection_limit import limited


async def _measure(node: Node, beside: Node, calls: int) -> None:
    for client, connect in CLIENTS.items():
        async with connect(node) as call, connect(beside) as quiet:
            await quiet()
            first = await _time(call)
            found = [(await _time(call), await _time(quiet)) for _ in range(calls)]
        disturbed, undisturbed = zip(*found, strict=True)
        slowest = max(disturbed) / max(undisturbed)
        print(
            f"    {client:<5} first {first:>7.1f} ms   slowest {max(disturbed):>6.1f} ms "
            f"({max(undisturbed):.1f} beside, x {slowest:.2f})   median "
            f"{statistics.median(disturbed):.1f} ms ({statistics.median(undisturbed):.1f} beside)",
            flush=True,
        )


async def _time(call: Call) -> float:
    began = time.perf_counter()
    await call()
    return (time.perf_counter() - began) * 1000


async def _play(folder: Path, calls: int) -> None:
    few, options = limited("ulimit -n 256"), ("--grpc-port", "0")
    async with running(str(folder / "beside.db"), *options, wrapper=few) as beside:
        for port, kinds in PORTS.items():
            for name, kind in kinds.items():
                database = str(folder / f"{port}-{name}.db")
                async with running(database, *options, wrapper=few) as node:
                    print(f"{port}: {name}", flush=True)
                    async with _apart(port_of(node, port), kind):
                        await _measure(node, beside, calls)


@asynccontextmanager
async def _apart(port: int, kind: Strangers) -> AsyncIterator[None]:
    """Run strangers in a process of their own until the block ends."""
    context = multiprocessing.get_context("fork")
    are_in, may_leave = context.Event(), context.Event()
    process = context.Process(target=_visit, args=(port, kind, are_in, may_leave))
    process.start()
    try:
        await asyncio.to_thread(are_in.wait)
        yield
    finally:
        may_leave.set()
        await asyncio.to_thread(process.join)


def _visit(port: int, kind: Strangers, are_in: Event, may_leave: Event) -> None:
    async def visit() -> None:
        async with strangers(port, kind):
            are_in.set()
            await asyncio.to_thread(may_leave.wait)

    asyncio.run(visit())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.doors", description=__doc__)
    parser.add_argument("--calls", type=int, default=200, help="calls of each client")
    given = parser.parse_args(arguments)
    os.environ["OJS_KEYS"] = f"admin:{KEY}"
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_play(Path(folder), given.calls))
    return 0


if __name__ == "__main__":
    sys.exit(main())
