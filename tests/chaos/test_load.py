"""The clients of a round never stop writing, so that each blow meets writes."""

import asyncio
import random
from typing import Any

from tests.chaos.history import Act, Exchange, History
from tests.chaos.load import BACKLOG, Load, Producer


class Once(Producer):
    """A producer that stops after its first job."""

    async def insist(self, act: Act, about: str, body: dict[str, Any], **more: Any) -> Exchange:
        self.load.enough.set()
        return self.load.history.begin(act, self.name, about)


async def test_a_producer_goes_on_while_nothing_is_written() -> None:
    history = History()
    load = Load([], history, "q", random.Random(1))
    load.backlog = BACKLOG
    write = history.begin(Act.ACK, "w", "job")
    producing = asyncio.create_task(Once(load, "p").run())
    await asyncio.sleep(0)
    assert load.backlog == BACKLOG
    history.end(write, write.fate)
    async with asyncio.timeout(30):
        await producing
    assert load.backlog == BACKLOG + 1
