"""Several servers of one database: the next one is asked where one fails."""

import asyncio
import socket
from contextlib import AsyncExitStack, closing

import pytest

from ojs_worker import BlockingClient, Client, Unreachable, Worker
from ojs_worker.config import SettingError
from ojs_worker.transport import Reply, Request
from ojs_worker.transport.in_turn import InTurn
from tests.worker.paced import Answers, Pace
from tests.worker.scripted import ScriptedServer, listening

WELL = Reply(200, b"{}")
BUSY = Reply(503, b"", 20.0)
ASK = Request("GET", "/ojs/manifest")


@pytest.fixture
def nowhere() -> str:
    """A URL where nothing listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as held:
        port = held.getsockname()[1]
    return f"http://127.0.0.1:{port}"


async def test_it_stays_with_the_server_that_works() -> None:
    one, two = Answers(None, WELL, sent=False), Answers(WELL, WELL, None, sent=False)
    ways = InTurn([one, two])
    for _ in range(4):
        assert await ways.send(ASK) == WELL
    # The first is tried again once the second fails.
    assert (len(one.requests), len(two.requests)) == (3, 3)


async def test_what_may_have_arrived_is_left_to_the_caller() -> None:
    one, two = Answers(None), Answers(WELL)
    ways = InTurn([one, two])
    with pytest.raises(Unreachable) as failed:
        await ways.send(ASK)
    assert failed.value.sent
    assert await ways.send(ASK) == WELL


async def test_without_any_server_each_is_named() -> None:
    one, two = Answers(None, sent=False), Answers(None, sent=False)
    with pytest.raises(Unreachable, match="no answer; no answer") as failed:
        await InTurn([one, two]).send(ASK)
    assert not failed.value.sent
    assert (len(one.requests), len(two.requests)) == (1, 1)


async def test_the_pause_that_one_asks_for_does_not_hold_for_the_next() -> None:
    ways = InTurn([Answers(BUSY), Answers(BUSY)])
    asked = [(await ways.send(ASK)).retry_after_s for _ in range(4)]
    assert asked == [None, 20.0, None, 20.0]
    pace = Pace()
    client = Client(transport=InTurn([Answers(BUSY), Answers(WELL)]), **pace.given)
    assert await client.manifest() == {}
    assert sum(pace.made) < 1


async def test_calls_that_fail_together_pass_one_server_over() -> None:
    gone = asyncio.Event()

    class Hanging:
        async def send(self, request: Request) -> Reply:
            await gone.wait()
            raise Unreachable("hung", sent=True)

        async def close(self) -> None: ...

    second, third = Answers(WELL), Answers(WELL)
    ways = InTurn([Hanging(), second, third])
    calls = [asyncio.create_task(ways.send(ASK)) for _ in range(2)]
    await asyncio.sleep(0)
    gone.set()
    await asyncio.gather(*calls, return_exceptions=True)
    await ways.send(ASK)
    assert (len(second.requests), len(third.requests)) == (1, 0)


@pytest.mark.parametrize("hung", [False, True], ids=["refused", "hung"])
async def test_both_clients_reach_the_second_url(nowhere: str, hung: bool) -> None:
    scripted = ScriptedServer()
    scripted.answers["/ojs/manifest"] = lambda body: (200, {"it": "answers"})
    async with AsyncExitStack() as stack:
        there = await stack.enter_async_context(listening(scripted))
        first = nowhere
        if hung:
            # The system takes its connections, and nothing answers them.
            held = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            first = f"http://127.0.0.1:{held.getsockname()[1]}"
        async with Client(f"{first},{there}", timeout_s=0.5) as client:
            assert await client.manifest() == {"it": "answers"}

        def block() -> object:
            with BlockingClient([first, there], timeout_s=0.5) as client:
                return client.manifest()

        assert await asyncio.to_thread(block) == {"it": "answers"}


async def test_a_worker_finds_its_second_url(nowhere: str) -> None:
    scripted = ScriptedServer()
    async with listening(scripted) as url:
        done = asyncio.Event()
        worker = Worker([nowhere, url], poll_interval=0.05)

        @worker.job("test.echo")
        async def echo() -> None:
            done.set()

        async with worker:
            await scripted.offer({"id": "1", "type": "test.echo", "args": [], "attempt": 1})
            async with asyncio.timeout(30):
                await done.wait()


def test_files_of_tls_need_every_url_to_be_encrypted() -> None:
    with pytest.raises(SettingError, match="nothing would be encrypted"):
        Worker(["https://a", "http://b"], tls_ca_file="ca.pem").config()
    with pytest.raises(ValueError, match="must begin with http"):
        Client("http://a,b:8080")
