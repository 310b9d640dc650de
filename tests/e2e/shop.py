"""An application with one key: it enqueues, works, starts workflows, and has a cron entry."""

from ojs_worker import Worker

worker = Worker(cron_owner="shop")


@worker.job("mail.send")
async def send(address: str) -> str:
    """Send the mail."""
    return f"sent to {address}"


@worker.job("order.ship")
async def ship(address: str) -> str:
    """Ship an order, and have its mail sent by another job."""
    mail = await send.enqueue(address)
    return mail.id


@worker.cron("* * * * * *", name="report")
@worker.job("report.make")
async def report() -> None:
    """Make the report of the second."""
