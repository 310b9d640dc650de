"""``python -m tests.conformance.outbox_adapter``: the program of the examples, with an outbox."""

import asyncio
import os
import sys
from typing import Any

import psycopg
import sqlalchemy

from examples.adapter import program
from ojs_worker import OjsError, Unreachable, outbox
from ojs_worker.outbox.relay import Relay
from ojs_worker.outbox.rows import Rows
from ojs_worker.transport import Reply, Request
from ojs_worker.transport.direct import transport_to

ENGINE = sqlalchemy.create_engine(
    "postgresql+psycopg://", creator=lambda: psycopg.connect(sys.argv[1])
)
ROWS = Rows(ENGINE)


class Pausing:
    """A transport that passes the points of the judge, and ends the relay when a call fails."""

    def __init__(self, reach: program.Reach) -> None:
        self.failure: OjsError | None = None
        self._reach = reach
        self._transport = transport_to(os.environ["OJS_URL"], None)

    async def send(self, request: Request) -> Reply:
        """Send one request."""
        self._reach("relay-read")
        try:
            reply = await self._transport.send(request)
        except Unreachable as error:
            self.failure = error
            raise
        self._reach("relay-sent")
        return reply

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()


def enqueue(connection: program.Connection, asked: program.Asked, row: str) -> None:
    """Enqueue the job about a row in the transaction that is open."""
    outbox.enqueue_blocking(connection, asked["type"], [row], queue=asked["queue"])


def relay(connection: program.Connection, reach: program.Reach) -> dict[str, Any]:
    """Send what waits in the outbox, once."""

    async def send() -> dict[str, Any]:
        transport = Pausing(reach)
        async with Relay(ENGINE, transport=transport, poll_s=0.01, lease_s=1):
            while ROWS.figures().pending and transport.failure is None:  # noqa: ASYNC110
                # The database has no event for it.
                await asyncio.sleep(0.01)
        if transport.failure is not None:
            return {"failed": str(transport.failure)}
        reach("relay-marked")
        return {"done": True}

    return asyncio.run(send())


if __name__ == "__main__":
    if not sqlalchemy.inspect(ENGINE).has_table("ojs_outbox"):
        ROWS.create()
    program.ABILITIES |= {"name": "ojs_worker.outbox", "relay": True}
    program.ABILITIES["points"] = [
        *("began", "row-written", "enqueued", "committed"),
        *("relay-read", "relay-sent", "relay-marked"),
    ]
    program.enqueue, program.relay = enqueue, relay
    program.main()
