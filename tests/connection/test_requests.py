"""Requests on a connection: they are read as uvicorn reads them, also where they are taken."""

import asyncio
import gc
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ojs_server.connection.connection import MOST_BEHIND, PIECE, Connection
from ojs_server.connection.exchange import Exchange
from ojs_server.connection.flow_control import MOST_UNREAD
from tests.http.reading import Reading

GET = b"GET /a?b=1 HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"


def body_after(head: bytes, body: bytes) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


head = st.sampled_from(
    [
        b"POST /a HTTP/1.1\r\nHost: x\r\n",
        b"POST /a HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n",
        b"POST /b%20c?d HTTP/1.1\r\nHost: x\r\nX-Same: 1\r\nx-same: 2\r\n",
        b"POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
        b"POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n",
        b"POST /a HTTP/1.0\r\nHost: x\r\n",
        b"\r\n\r\nPOST /a HTTP/1.1\r\nHost: x\r\n",
        b"POST /a HTTP/1.1\nHost: x\r\n",
    ]
)
SLOW = b"POST /slow HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = body_after(b"POST /a HTTP/1.1\r\nHost: x\r\n", b"a" * (MOST_UNREAD - 9))
UNREAD = body_after(b"POST /unread HTTP/1.1\r\nHost: x\r\n", GET)
body = st.sampled_from([b"", b"{}", b"body", b"\r\n\r\n", b"ab\r\n\r\nGET / HTTP/1.1\r\n\r\n"])
CHUNKED = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
BARE = b"POST /a HTTP/1.1\nHost: x\nContent-Length: 10\n\nab\r\n\r\nabcd"
request = st.one_of(
    st.builds(body_after, head, body),
    st.sampled_from(
        [GET, POST, UNREAD, CHUNKED, BARE, BARE + b"123456", POST[:-2], POST + b"more"]
    ),
)
cuts = st.lists(st.integers(1, 200), max_size=2)


def pieces_of(requests: Sequence[tuple[bytes, list[int], bool]]) -> list[tuple[bytes, bool]]:
    found: list[tuple[bytes, bool]] = []
    for sent, cut, settles in requests:
        places = [0, *sorted({place for place in cut if place < len(sent)}), len(sent)]
        found += [(sent[start:end], settles) for start, end in pairwise(places)]
    return found


@given(
    st.lists(st.tuples(request, st.just([]) | cuts, st.booleans()), min_size=2, max_size=6),
    st.lists(st.sampled_from(["once", "soon", "wait"])),
)
@example([(POST, [], True), (POST, [], True)], [])
@example([(POST, [], True), (POST + POST, [], True)], [])
@example([(POST, [], False), (POST, [], False)], [])
@example([(BARE, [], True), (BARE + b"123456", [], True)], [])
@example([(GET, [], True), (UNREAD, [len(UNREAD) - len(GET)], True)], [])
@example([(POST, [], True), (POST[:-2], [], True), (POST, [], True)], [])
@example([(POST, [], True)] * 4, ["soon", "soon"])
@example([(POST, [], True), (POST, [], True), (POST, [], False), (POST, [50], True)], ["soon"])
@example([(POST, [], True), (POST, [], True), (POST, [], False), (POST, [50], True)], ["wait"])
def test_what_is_taken_is_read_as_uvicorn_reads_it(
    requests: list[tuple[bytes, list[int], bool]], ways: list[str]
) -> None:
    async def read(protocol: type[Connection | HttpToolsProtocol], *ways: str) -> Reading:
        reading = Reading(protocol, ways)
        await reading.read(pieces_of(requests))
        return reading

    taken = asyncio.run(read(Connection, *ways))
    parsed = asyncio.run(read(HttpToolsProtocol))
    if b" 400 " in parsed.wire.written:
        # uvicorn does not wait for the answers to what came before.
        parsed = asyncio.run(read(Connection))
    assert taken.told == parsed.told
    assert taken.ended == parsed.ended
    assert taken.wire.written.count(b"200 OK") == parsed.wire.written.count(b"200 OK")


async def test_whole_requests_are_taken() -> None:
    reading = Reading(Connection, ["soon", "once", "wait"])
    asking = POST.replace(b"Host", b"Expect: 100-continue\r\nHost")
    await reading.read([(POST, True), (POST[:-2], True), (POST[-2:], True), (asking, True)] * 2)
    # Except requests with `Expect`, or with a body that comes later.
    assert reading.taken == 2
    assert [told[-1] for told in reading.told] == [b"body"] * 6


async def test_many_requests_behind_another_may_be_answered_at_once() -> None:
    reading = Reading(Connection, ["soon"] + ["once"] * 1500)
    reading.protocol.data_received(POST * 1501)
    await reading.settled()
    assert reading.taken == len(reading.told) == 1501
    assert not reading.protocol.flow.read_paused


async def test_nothing_is_taken_behind_the_last_answer() -> None:
    reading = Reading(Connection, ["once"] * 2)
    last = POST.replace(b"Host", b"Connection: close\r\nHost")
    await reading.read([(last + POST, True)])
    assert (reading.taken, len(reading.told)) == (1, 1)


@pytest.mark.parametrize("way", ["soon", "wait"])
async def test_a_stop_ends_a_connection_behind_an_answer(way: str) -> None:
    reading = Reading(Connection, [way])
    reading.protocol.data_received(POST)
    reading.protocol.shutdown()
    before = reading.wire.closed
    await reading.settled()
    assert (before, reading.wire.closed) == (False, True)
    assert reading.wire.written.endswith(b"content-length: 2\r\nconnection: close\r\n\r\nok")


@pytest.mark.parametrize("way", ["soon", "wait"])
async def test_nothing_is_written_to_who_has_gone(way: str) -> None:
    reading = Reading(Connection, [way])
    reading.protocol.data_received(POST)
    reading.protocol.connection_lost(None)
    await reading.settled()
    assert (reading.taken, reading.wire.written) == (1, b"")


async def test_requests_behind_another_are_read_until_there_are_many() -> None:
    # Two bodies are more than may wait unread, and the head behind them ends it.
    for behind, most in ((GET, MOST_BEHIND), (LARGE, 3)):
        reading = Reading(Connection)
        reading.protocol.data_received(SLOW)
        for _ in range(most):
            assert not reading.protocol.flow.read_paused
            reading.protocol.data_received(behind)
        assert reading.protocol.flow.read_paused
        reading.answer.set()
        await reading.settled()
        await asyncio.sleep(0.05)
        await reading.settled()
        assert len(reading.told) == most + 1
        assert not reading.protocol.flow.read_paused


async def test_a_read_with_thousands_of_requests_is_parsed_as_they_are_answered() -> None:
    def kept() -> int:
        gc.collect()
        return sum(type(thing) is Exchange for thing in gc.get_objects())

    before = kept()
    reading = Reading(Connection)
    reading.protocol.data_received(SLOW + GET * 5000)
    await reading.settled()
    assert kept() - before < MOST_BEHIND + PIECE // len(GET) + 10
    assert reading.protocol.flow.read_paused
    reading.protocol.data_received(POST)
    reading.answer.set()
    async with asyncio.timeout(60):
        while len(reading.told) < 5002:
            await reading.settled()
    assert reading.told[-1][-1] == b"body"
    assert not reading.protocol.flow.read_paused


async def test_every_request_of_a_connection_is_told_when_its_client_goes() -> None:
    reading = Reading(Connection)
    reading.protocol.data_received(SLOW)
    await reading.settled()
    running = reading.protocol.newest
    reading.protocol.data_received(GET)
    reading.protocol.connection_lost(None)
    assert running.disconnected
    reading.answer.set()
    await reading.settled()
    assert reading.wire.written == b""


@pytest.mark.parametrize("ways", [[], ["once"], ["soon"], ["wait"]])
async def test_a_quiet_connection_keeps_no_body(ways: list[str]) -> None:
    for sent in (POST, UNREAD):
        reading = Reading(Connection, ways)
        await reading.take([(sent, True)])
        assert (len(reading.told), reading.protocol.newest.body()) == (1, b"")
