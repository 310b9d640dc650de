"""Handlers of a made-up small shop: they take time, report progress, and fail."""

import asyncio
import random
from typing import Any

from ojs_worker import Context, Worker


class SmtpTimeout(Exception):
    """A mail server that does not answer."""


class CardDeclined(Exception):
    """A bank that says no."""


class OutOfPaper(Exception):
    """A printer that needs a person."""


def worker(url: str, name: str, queues: tuple[str, ...], concurrency: int, seed: int) -> Worker:
    """A worker of the shop with all its handlers."""
    made = Worker(url, id=name, queues=list(queues), concurrency=concurrency)
    chance = random.Random(seed)

    async def spend(least: float, most: float) -> None:
        await asyncio.sleep(chance.uniform(least, most))

    @made.job("mail.send")
    async def send(ctx: Context, to: str, template: str) -> dict[str, Any]:
        await spend(0.02, 0.3)
        if chance.random() < 0.07:
            raise SmtpTimeout("smtp.example.org did not answer within 5 s")
        return {"message_id": f"<{ctx.job.id}@example.org>", "to": to, "template": template}

    @made.job("image.resize")
    async def resize(path: str, width: int) -> dict[str, Any]:
        await spend(0.1, 1.2)
        return {"path": path.replace(".jpg", f"-{width}.jpg"), "bytes": width * 211}

    @made.job("payment.capture")
    async def capture(order: int, cents: int) -> dict[str, Any]:
        await spend(0.05, 0.6)
        if chance.random() < 0.12:
            raise CardDeclined(f"the bank declined {cents / 100:.2f} EUR for order {order}")
        return {"order": order, "captured": cents}

    @made.job("invoice.print")
    async def print_invoice(order: int) -> None:
        await spend(0.1, 0.4)
        if chance.random() < 0.25:
            raise OutOfPaper(f"printer 2 has no paper; invoice {order} waits")

    @made.job("stock.sync")
    async def sync() -> dict[str, Any]:
        await spend(0.5, 1.0)
        return {"changed": chance.randrange(0, 40)}

    @made.job("order.ship")
    async def ship(order: int) -> dict[str, Any]:
        await spend(0.3, 1.5)
        return {"order": order, "parcel": f"P{order:08}"}

    @made.job("report.monthly")
    async def report(ctx: Context, month: str, rows: int) -> dict[str, Any]:
        for done in range(0, rows, max(rows // 60, 1)):
            ctx.progress(done / rows, f"{done:,} of {rows:,} rows", {"month": month, "rows": done})
            await spend(0.5, 1.5)
        return {"month": month, "rows": rows}

    return made
