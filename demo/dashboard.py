"""Run a demo server with a small shop of three workers, for the dashboard to show.

Everything is real: the server is a program of its own, the workers fetch, and jobs fail by
themselves. It ends with Ctrl-C, and its store with it.
"""

import argparse
import asyncio
import contextlib
import logging
import random
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from demo.handover import address, program
from demo.shop import worker
from ojs_worker import Client, JobRequest, RetryPolicy

PORT: Final = 8080
SEED: Final = 35
_PAUSE_S: Final = 0.25
_TEMPLATES: Final = ("welcome", "receipt", "reset-password", "newsletter")
_SLOW_RETRIES: Final = RetryPolicy(
    max_attempts=3, initial_interval="20s", on_exhaustion="dead_letter"
)
_SHORT: Final = RetryPolicy(max_attempts=2, initial_interval="1s", on_exhaustion="dead_letter")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=PORT, help=f"default {PORT}")
    port = parser.parse_args(arguments).port
    # The jobs fail on purpose, and the dashboard shows that better than the log.
    logging.getLogger("ojs").setLevel(logging.CRITICAL)
    asyncio.run(play(port))
    return 0


async def play(port: int) -> None:
    """Run the shop on a port until it is told to end."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with shop(port) as url:
        print(f"the dashboard is at {url}/ui/", flush=True)
        await stop.wait()


@asynccontextmanager
async def shop(port: int, seed: int = SEED) -> AsyncIterator[str]:
    """Run a server with workers and a stream of jobs; yield its address once it has a history."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ojs-shop-")))
        options = ("--database", str(folder / "shop.db"), "--port", str(port))
        server = await stack.enter_async_context(
            program("ojs_server", *options, "--log-level", "warning")
        )
        url = await address(server)
        client = await stack.enter_async_context(Client(url))
        chance = random.Random(seed)
        await begin(client, url, chance)
        for name, queues, places in (
            ("web-1.shop", ("default", "mail", "billing"), 8),
            ("web-2.shop", ("default", "mail"), 8),
            ("render-1.shop", ("media", "reports", "default"), 4),
        ):
            made = worker(url, name, queues, places, chance.getrandbits(32))
            await stack.enter_async_context(made)
        customers = asyncio.create_task(keep_ordering(client, chance))
        stack.push_async_callback(_end, customers)
        yield url


async def begin(client: Client, url: str, chance: random.Random) -> None:
    """Create the initial data: queues, a schedule, long jobs, orders."""
    await client.enqueue_many([order(client, chance, number) for number in range(1000, 1120)])
    await client.enqueue_many(
        [
            client.request(
                "newsletter.send", [{"segment": segment}], queue="mail", delay=f"{hours}h"
            )
            for hours, segment in enumerate(("vip", "new", "dormant", "all"), start=1)
        ]
    )
    await client.enqueue("report.monthly", ["2026-10", 48_000], queue="reports", tags=["finance"])
    await client.enqueue("report.monthly", ["2026-09", 96_000], queue="reports", tags=["finance"])
    for name, expression, job_type in (
        ("nightly-backup", "0 3 * * *", "backup.run"),
        ("monthly-report", "0 6 1 * *", "report.monthly"),
        ("stock-sync", "*/15 * * * *", "stock.sync"),
        ("weekly-newsletter", "0 9 * * MON", "newsletter.send"),
    ):
        await client.put_cron(name, expression, job_type, timezone="Europe/Berlin")
    await client.trigger_cron("stock-sync")
    await client.enable_cron("weekly-newsletter", enabled=False)
    async with httpx.AsyncClient(base_url=f"{url}/ojs/v1") as http:
        for number in range(1, 5):
            (await http.post("/workflows", json=fulfilment(number))).raise_for_status()
        # A paused queue with a waiting job.
        await client.enqueue("label.print", [1007], queue="printing")
        (await http.post("/admin/queues/printing/pause", json={})).raise_for_status()
        limits = {"concurrency": 4, "rate_limit": {"max_per_second": 20}, "max_size": 10_000}
        (await http.patch("/queues/billing/config", json=limits)).raise_for_status()


def fulfilment(number: int) -> dict[str, Any]:
    """The workflow of one order: it is paid, pictures and papers are made, and it is shipped."""
    widths = (80, 400, 1600)
    steps = [
        _step("pay", "payment.capture", [number, 4200], queue="billing"),
        *(
            _step(f"label-{width}", "image.resize", [f"/{number}.jpg", width], "pay", queue="media")
            for width in widths
        ),
        _step("invoice", "invoice.print", [number], "pay"),
        _step("ship", "order.ship", [number], "invoice", *(f"label-{width}" for width in widths)),
        _step("tell", "mail.send", [f"customer{number}@example.org", "receipt"], "ship"),
        _step("report", "report.monthly", ["2026-11", 4_000], "ship", queue="reports"),
    ]
    return {"name": f"order {number}", "steps": steps}


def _step(
    name: str, job_type: str, args: list[Any], *after: str, queue: str = "default"
) -> dict[str, Any]:
    retry = {"max_attempts": 6, "initial_interval": "PT2S"}
    options = {"queue": queue, "retry": retry}
    return {
        "id": name,
        "type": job_type,
        "args": args,
        "depends_on": list(after),
        "options": options,
    }


def order(client: Client, chance: random.Random, number: int) -> JobRequest:
    """A job as customers cause it."""
    kind = chance.choices(("mail", "image", "payment", "invoice", "ship"), (10, 5, 3, 2, 3))[0]
    meta = {"customer": chance.randrange(1, 500)}
    match kind:
        case "mail":
            to = f"customer{meta['customer']}@example.org"
            args = [{"to": to, "template": chance.choice(_TEMPLATES)}]
            return client.request("mail.send", args, queue="mail", retry=_SLOW_RETRIES, meta=meta)
        case "image":
            path = f"/uploads/{number}.jpg"
            return client.request("image.resize", [path, chance.choice((80, 400))], queue="media")
        case "payment":
            cents = chance.randrange(500, 20_000)
            return client.request(
                "payment.capture", [number, cents], queue="billing", retry=_SHORT, meta=meta
            )
        case "invoice":
            return client.request("invoice.print", [number], retry=_SHORT)
        case _:
            return client.request("order.ship", [number], tags=["express"], meta=meta)


async def keep_ordering(client: Client, chance: random.Random) -> None:
    """New jobs, a few each second."""
    number = 2000
    while True:
        count = chance.randrange(0, 4)
        if count:
            orders = [order(client, chance, number + offset) for offset in range(count)]
            await client.enqueue_many(orders)
        number += count
        await asyncio.sleep(_PAUSE_S)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


if __name__ == "__main__":
    sys.exit(main())
