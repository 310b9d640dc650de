"""Back up the configuration of a router and of all that it leads to.

    ojs-server --profile blackboard &
    python examples/blackboard/network.py http://127.0.0.1:8080

Devices are found from device to device, then all are backed up, then audited. Should the audit
fail, the backups are taken back.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Any

import httpx

from ojs_worker.blackboard import (
    Acquired,
    BoardHooks,
    BoardWorker,
    BoardWorkflow,
    Executed,
    FunctionBlock,
    Report,
)

# The neighbours of each device; a real block would ask the device.
NEIGHBOURS = {"router": ["switch-1", "switch-2"], "switch-1": ["host"], "switch-2": []}


class ConfigBackup(FunctionBlock):
    """Copies the configuration of every device."""

    id = "configBackup"
    result_schema: Mapping[str, Any] | None = {"type": "object", "required": ["backups"]}

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def acquire(self, context: Mapping[str, Any]) -> Acquired:
        """The neighbours of all devices that are known so far."""
        known = context["entities"]
        return Acquired([other for one in known for other in NEIGHBOURS.get(one, ())])

    def run(self, context: Mapping[str, Any]) -> Executed:
        """Keep a copy of each, and tell the engine of it."""
        self.kept = {device: f"hostname {device}" for device in context["entities"]}
        created = [{"device": device} for device in self.kept]
        return Executed({"backups": len(self.kept)}, {"create": created})

    def rollback(self, context: Mapping[str, Any]) -> None:
        """Throw the copies away."""
        self.kept = {}


class Audit(FunctionBlock):
    """Refuses devices that nobody knows."""

    id = "audit"

    def run(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Every device must be in the inventory."""
        strangers = [one for one in context["entities"] if one not in {*NEIGHBOURS, "host"}]
        if strangers:
            raise LookupError(f"not in the inventory: {', '.join(strangers)}")
        return {"devices": len(context["entities"])}


class Inventory(BoardHooks):
    """The entities as the engine knows them; here a table in memory."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {}

    def apply_db_updates(self, job_id: str, updates: Mapping[str, Any]) -> None:
        """Keyed by the job, so that a second call for it changes nothing."""
        self.rows.setdefault(job_id, updates["create"])


async def play(
    client: httpx.AsyncClient, devices: list[str], inventory: Inventory | None = None
) -> Report:
    """One worker beside one workflow."""
    worker = BoardWorker(client, [ConfigBackup(), Audit()], poll_interval=0.05)
    await worker.register()
    working = asyncio.create_task(worker.run())
    try:
        blocks = [ConfigBackup.id, Audit.id]
        return await BoardWorkflow(client, blocks, hooks=inventory).run(devices)
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def main(url: str) -> None:
    """Play it against a server."""
    inventory = Inventory()
    key = os.environ.get("OJS_AUTH_TOKEN")
    headers = {"Authorization": f"Bearer {key}"} if key else None
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=40) as client:
        for devices in (["router"], ["router", "intruder"]):
            report = await play(client, devices, inventory)
            print(f"{devices}: {len(report.entities)} devices, results {report.results}")
            if report.failed:
                print(f"  {report.failed} failed ({report.reason}), undone: {report.rolled_back}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"))
