"""The story of an application with one key: it enqueues, works and owns its cron entry."""

from collections.abc import AsyncIterator

import pytest

from ojs_worker import Client, chain
from ojs_worker.errors import PermissionDenied
from tests.e2e import shop
from tests.e2e.node import Node, running, until
from tests.worker.process import worker

TARGET = "tests.e2e.shop:worker"
SHOP, OTHER, ADA = "the-key-of-the-shop", "the-key-of-another", "the-key-of-ada-01"
KEYS = f"shop=worker+producer:{SHOP},other=worker+producer:{OTHER},ada=operator:{ADA}"


@pytest.fixture
async def node(store_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Node]:
    monkeypatch.setenv("OJS_KEYS", KEYS)
    async with running(store_url) as started:
        yield started


async def test_one_key_enqueues_works_and_owns_cron(node: Node) -> None:
    async with Client(node.url, auth=SHOP) as client, Client(node.url, auth=ADA) as ada:

        async def has_run() -> bool:
            return any(one.run_count for one in await client.list_crons())

        async with worker(node.url, target=TARGET, OJS_AUTH_TOKEN=SHOP):
            job = await client.enqueue("order.ship", ["a@example.org"])
            mail = await client.result(job, timeout_s=60)
            assert await client.result(str(mail), timeout_s=60) == "sent to a@example.org"
            flow = await client.start(
                chain(shop.send.request("b@example.org"), shop.send.request("c@example.org"))
            )

            async def is_done() -> bool:
                return (await client.get_workflow(flow.id)).state == "completed"

            await until(is_done, 60)
            await until(has_run, 60)
            (entry,) = await client.list_crons()
            assert await client.result(str(entry.last_job_id), timeout_s=60) is None
            with pytest.raises(PermissionDenied, match=r"role worker\+producer may not do this"):
                await client.queues.pause("default")
        (entry,) = await client.list_crons()
        assert (entry.name, entry.meta["cron_owner"], entry.may_change) == ("report", "shop", True)
        # Another program with the same owner does not start, and changes nothing.
        for options in ((), ("--workers", "2")):
            async with worker(node.url, *options, target=TARGET, OJS_AUTH_TOKEN=OTHER) as process:
                assert await process.code() == 2
            assert any("report is another key's: allowed are" in one for one in process.output)
        # An operator may pause the entry; its program goes on with it, as it was left.
        await ada.enable_cron("report", enabled=False)
        async with worker(node.url, target=TARGET, OJS_AUTH_TOKEN=SHOP) as process:

            async def is_registered() -> bool:
                return any("report is registered" in line for line in process.output)

            await until(is_registered, 60)
        (entry,) = await client.list_crons()
        assert (entry.enabled, entry.may_change) == (False, True)
