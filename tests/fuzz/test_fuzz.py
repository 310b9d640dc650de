"""A short run of the fuzzer, and tests that its player detects faults."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fuzz.answers import answers
from tests.fuzz.operations import places
from tests.fuzz.playing import Player
from tests.fuzz.served import SUSPECT, served
from tests.fuzz.shots import Shooter
from tests.fuzz.values import EACH, Raw, planted, written
from tests.openapi.operations import OPERATIONS

Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
SHOTS = 700


@pytest.mark.long
async def test_nothing_that_is_sent_breaks_the_server(store_url: str, tmp_path: Path) -> None:
    with served(store_url, tmp_path / "log") as server:
        shooter = Shooter(2030, f"{server.host}:{server.port}")
        player = Player(shooter, server.host, server.port)
        await player.play(range(SHOTS), at_once=8)
        faults = [*player.tally.faults, *await asyncio.to_thread(server.faults)]
    assert not faults, "\n".join(faults)
    assert player.tally.shots == SHOTS
    # It was reached, and not only refused.
    assert player.tally.statuses[200] > 0
    assert player.tally.statuses[400] > 0


def test_every_operation_is_shot_at_in_every_place() -> None:
    found = places()
    ids = {place.operation.id for place in found}
    assert {operation.id for operation in OPERATIONS} == ids
    paths = {place.path for place in found if place.operation.id == "enqueueJob"}
    assert {(), ("type",), ("args",), ("retry", "max_attempts"), ("tags", EACH)} <= paths
    shooter = Shooter(1, "a")
    shots = [shooter.shot(2 * number).kind for number in range(len(found))]
    assert len(set(shots)) == len({(p.operation.id, p.kind, p.path) for p in found})


def test_a_shot_is_the_same_each_time() -> None:
    one, same, other = Shooter(1, "a"), Shooter(1, "a"), Shooter(2, "a")
    data = [one.shot(number).data for number in range(4_000)]
    assert data == [same.shot(number).data for number in range(4_000)]
    assert data != [other.shot(number).data for number in range(4_000)]


def test_values_are_put_where_they_belong() -> None:
    value = Raw(b"1e999")
    assert written(planted({"a": 1}, (), value)) == b"1e999"
    assert written(planted(None, ("a", EACH, "b"), value)) == b'{"a":[{"b":1e999}]}'
    kept = planted({"a": [{"b": 1, "c": 2}, 3]}, ("a", EACH, "b"), value)
    assert written(kept) == b'{"a":[{"b":1e999,"c":2},3]}'


def test_answers_are_read_one_after_the_other() -> None:
    empty = b"HTTP/1.1 204 No Content\r\n\r\n"
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
    chunked = b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
    assert answers(b"HTTP/1.1 100 Continue\r\n\r\n" + whole).statuses == [200]
    assert answers(empty + chunked + whole).statuses == [204, 201, 200]
    head = whole[:-3]
    assert answers(head + empty, ["HEAD", "GET"]).statuses == [200, 204]
    assert answers(whole + b"what?").nonsense == b"what?"
    assert answers(whole[:-1]).cut
    assert not answers(whole).cut


@asynccontextmanager
async def listening(handle: Handle) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        finally:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        yield listener.sockets[0].getsockname()[1]


async def failing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")


async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)


async def babbling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"what?")


async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


@pytest.mark.parametrize(
    ("handle", "told"),
    [
        (failing, "answered with 500"),
        (mute, "ended without an answer"),
        (babbling, "what is no HTTP"),
        (deaf, "neither answered nor ended"),
    ],
)
async def test_what_is_wrong_is_seen(handle: Handle, told: str) -> None:
    async with listening(handle) as port:
        player = Player(Shooter(1, "a"), "127.0.0.1", port, bound_s=0.5 if handle is deaf else 20)
        # The first shot is a whole request.
        await player.play([0], at_once=1)
    (fault,) = player.tally.faults
    assert told in fault


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        "GET / failed unexpectedly",
        "Task exception was never retrieved",
    ],
)
def test_failures_in_a_log_are_seen(line: str) -> None:
    assert SUSPECT.search(line)
