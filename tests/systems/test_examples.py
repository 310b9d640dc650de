"""The example programs play to their end, as they stand there."""

import asyncio

from examples.jobmanager.scene import served
from examples.zeebe.order import main
from tests.http.listening import on_a_socket
from tests.systems.world import serving


async def test_an_order_goes_its_way(store_url: str) -> None:
    async with (
        serving(store_url, "zeebe", turned=False) as world,
        on_a_socket(world.server) as url,
        asyncio.timeout(60),
    ):
        assert await main(url) == [
            "collected 15 by card",
            "fetched book, pen",
            "shipped 2 for 15",
            "the order is completed",
            "the order is failed",
        ]


async def test_a_scene_is_changed_by_its_room(store_url: str) -> None:
    scene = {"angle": 350.0, "size": 1.0}
    async with serving(store_url, "jobmanager") as world, on_a_socket(world.server) as url:
        async with asyncio.timeout(60):
            told = await asyncio.to_thread(served, url, scene, polling_interval=0.05)
    assert told == [
        "Lab 1:modifiers:Rotate completed: {'angle': 35.0, 'size': 1.0}",
        "Lab 1:modifiers:Scale completed: {'angle': 35.0, 'size': 2.0}",
        "Lab 1:modifiers:Scale failed: a factor must be positive",
        "Lab 1:measure completed: 2 cm",
    ]
    assert scene == {"angle": 35.0, "size": 2.0}
