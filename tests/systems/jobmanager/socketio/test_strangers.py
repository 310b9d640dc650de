"""Clients without a key, who take nothing from those with one."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    CloseConnection,
    Message,
    Ping,
    RejectConnection,
    Request,
    TextMessage,
)

from tests.e2e.node import Node
from tests.systems.jobmanager.socketio.test_socketio import (
    ADMIN,
    KEY,
    Polling,
    opened,
    polling,
    serving,
)

LONGEST_S = 30
CONNECTIONS = 32


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of the servers."""
    monkeypatch.setenv("OJS_KEYS", f"worker:{KEY},admin:{ADMIN}")


class Socket:
    """A client that uses the WebSocket alone."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._wire = WSConnection(ConnectionType.CLIENT)

    def send(self, event: Request | Message[str]) -> None:
        """Send one frame."""
        self._writer.write(self._wire.send(event))

    async def next(self) -> str | None:
        """The next packet; None once the connection is closed."""
        async with asyncio.timeout(LONGEST_S):
            while True:
                for event in self._wire.events():
                    if isinstance(event, TextMessage):
                        return event.data
                    if isinstance(event, CloseConnection | RejectConnection):
                        return None
                    assert isinstance(event, AcceptConnection | Ping), event
                data = await self._reader.read(65536)
                if not data:
                    return None
                self._wire.receive_data(data)

    async def rest(self) -> list[str]:
        """All packets until the server ends the connection."""
        packets = []
        while (packet := await self.next()) is not None:
            packets.append(packet)
        return packets


@asynccontextmanager
async def socket(node: Node, query: str = "") -> AsyncIterator[Socket]:
    """Open a WebSocket: of a new session, or of one that the query names."""
    address = urlsplit(node.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    client = Socket(reader, writer)
    target = f"/socket.io/?EIO=4&transport=websocket{query}"
    client.send(Request(host=address.netloc, target=target))
    try:
        yield client
    finally:
        writer.close()


async def is_over(session: Polling) -> bool:
    """True if the server does not know a session any more."""
    answer = await session.hear()
    assert answer.status_code in (200, 400)
    return answer.status_code == 400


async def until_over(session: Polling) -> None:
    """Poll until the server has closed a session."""
    async with asyncio.timeout(LONGEST_S):
        while not await is_over(session):
            pass


async def closed(client: httpx.AsyncClient, reason: str) -> float:
    """The number of sessions that were closed for a reason."""
    answer = await client.get("/metrics", headers={"Authorization": f"Bearer {ADMIN}"})
    name = f'ojs_socketio_closed_total{{reason="{reason}"}} '
    return sum(float(row.removeprefix(name)) for row in answer.text.splitlines() if name in row)


async def test_handshakes_without_a_key_take_no_place() -> None:
    async with serving(":memory:", "--max-streams", "2") as (_, client):
        early = await polling(client)
        for _ in range(20):
            assert (await opened(client)).status_code == 200
        # The key is in the CONNECT of one, and in the handshake of the other.
        assert (await early.connect({"token": KEY})).startswith("40")
        client.headers["Authorization"] = f"Bearer {KEY}"
        late = await polling(client)
        assert (await late.connect()).startswith("40")
        # These two are as many as may connect.
        refused = await opened(client)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")


async def test_a_session_that_does_not_connect_is_closed() -> None:
    async with serving(":memory:") as (node, client), socket(node) as idle:
        stranger, connected = await polling(client), await polling(client)
        assert (await connected.connect({"token": KEY})).startswith("40")
        assert (await idle.next() or "").startswith("0")
        # A poll is answered at once, so that it holds no connection.
        assert (await stranger.hear()).text == "6"
        packets = await idle.rest()
        assert "in time" in packets[0], packets
        assert packets[1] == "1"
        await until_over(stranger)
        assert await closed(client, "late") == 2
        assert await connected.call("join_room", {"room_id": "mine"}) == {"ok": True}
        # A client that leaves the namespace has to come back in time.
        await connected.say("41")
        await until_over(connected)


@pytest.mark.parametrize("packet", ["42[[[", "2", '42["disconnect"]', "40\x1e42", "451-[]"])
async def test_a_bad_packet_ends_its_session(packet: str) -> None:
    async with serving(":memory:") as (node, client), socket(node) as direct:
        session = await polling(client)
        await session.connect({"token": KEY})
        for number in range(3):
            bad = await polling(client) if number else session
            answer = await asyncio.wait_for(bad.say(packet), LONGEST_S)
            assert answer.status_code == 400
            assert "session is closed" in answer.json()["error"]["message"]
            assert await is_over(bad)
        await direct.next()
        direct.send(Message(packet))
        assert await direct.rest() == ["1"]
        assert await closed(client, "bad_packet") == 4
        told = [line for line in node.output if "bad packets" in line]
        assert len(told) == 1, told
        assert not any("Traceback" in line for line in node.output)


async def test_what_handlers_do_not_expect_leaves_no_traceback() -> None:
    async with serving(":memory:") as (node, client):
        session = await polling(client)
        await session.connect({"token": KEY})
        for order in (["join_room"], ["join_room", {"room_id": "a"}, 1, 2], ["unknown", 1, 2]):
            assert (await session.say(f"42{json.dumps(order)}")).status_code == 200
        assert await session.call("join_room", {"room_id": "mine"}) == {"ok": True}
        assert not any("Traceback" in line for line in node.output)


async def test_websockets_without_a_key_hold_a_share_of_the_connections() -> None:
    async with serving(":memory:", "--max-connections", str(CONNECTIONS)) as (node, client):
        async with asyncio.timeout(LONGEST_S), socket(node) as first, socket(node) as second:
            await first.next()
            await second.next()
            assert "oldest" in (await first.rest())[0]
            second.send(Message('40{"token":"' + KEY + '"}'))
            assert (await second.next() or "").startswith("40")
            async with socket(node) as third, socket(node) as fourth:
                await third.next()
                await fourth.next()
                assert "oldest" in (await third.rest())[0]
                second.send(Message('420["join_room",{"room_id":"mine"}]'))
                assert await second.next() == '430[{"ok":true}]'
        assert await closed(client, "displaced") == 2


async def test_upgrades_that_go_no_further_end_with_their_session() -> None:
    async with serving(":memory:") as (node, client):
        stranger = await polling(client)
        query = f"&sid={stranger._query['sid']}"
        async with socket(node, query) as stalled, socket(node, query) as another:
            assert await another.rest() == []
            assert await stalled.rest() == []
        assert await is_over(stranger)


async def test_a_client_that_reads_nothing_is_closed() -> None:
    async with serving(":memory:") as (_, client):
        stranger = await polling(client)
        async with asyncio.timeout(LONGEST_S):
            while (await stranger.say("\x1e".join(["40/none"] * 16))).status_code == 200:
                pass
        assert await closed(client, "unread") == 1


async def test_wrong_tokens_are_slowed_and_right_ones_are_not() -> None:
    async with serving(":memory:") as (_, client):
        guessing = await polling(client)
        answers = [await guessing.connect({"token": "guessed"}) for _ in range(11)]
        assert all("not known" in answer for answer in answers[:10])
        assert "too many" in answers[10]
        assert '"retry_after"' in answers[10]
        assert (await guessing.connect({"token": KEY})).startswith("40")
        client.headers["Authorization"] = "Bearer guessed"
        assert (await opened(client)).status_code == 429
