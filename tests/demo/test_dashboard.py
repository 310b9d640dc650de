"""The small shop: it starts, moves, and leaves nothing behind."""

import httpx

from demo.dashboard import shop
from tests.e2e.node import until


async def test_the_shop_moves() -> None:
    async with shop(0) as url, httpx.AsyncClient(base_url=f"{url}/ojs/v1") as client:

        async def moves() -> bool:
            stats = (await client.get("/admin/stats")).json()
            return bool(stats["workers"] == 3 and stats["jobs"]["completed"] > 0)

        await until(moves, within_s=30)
        queues = {
            queue["name"]: queue for queue in (await client.get("/admin/queues")).json()["items"]
        }
        assert queues["printing"]["paused"]
        assert (await client.get("/workflows")).json()["pagination"]["total"] == 4
        assert len((await client.get("/cron")).json()["crons"]) == 4
