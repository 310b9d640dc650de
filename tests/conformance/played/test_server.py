"""The played server over real sockets: honest answers, and every way to misbehave."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from conformance.played.book import Job, JobState
from conformance.played.calls import PUBLIC, Kind
from conformance.played.deviations import request_findings, request_of
from conformance.played.script import answer_with, garbage, held_until, lost_answer, refused, reset
from conformance.played.server import PlayedServer
from conformance.verdicts.contract import own_contract
from conformance.verdicts.exchanges import Received

V1 = "/ojs/v1/workers"
ME = {"worker_id": "w"}


@pytest.fixture
async def server() -> AsyncIterator[PlayedServer]:
    """A server that has every call."""
    made = PlayedServer(interval_s=0.5, kinds=list(Kind))
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def client(server: PlayedServer) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client in the place of a worker."""
    async with httpx.AsyncClient(base_url=server.url, trust_env=False) as made:
        yield made


def offered(server: PlayedServer, number: int, **options: Any) -> Job:
    name = f"01a1f0c0-0000-7000-8000-{number:012x}"
    return server.offer(Job(id=name, type="test.echo", args=[], **options))


async def post(client: httpx.AsyncClient, name: str, **body: Any) -> httpx.Response:
    return await client.post(f"{V1}/{name}", json={**ME, **body})


async def fetched(client: httpx.AsyncClient, **terms: Any) -> list[dict[str, Any]]:
    answer = await post(client, "fetch", **{"queues": ["q"], "count": 9, **terms})
    jobs: list[dict[str, Any]] = answer.json()["jobs"]
    return jobs


async def test_a_second_process_is_answered_but_gets_no_jobs_and_is_not_recorded(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    other = {"worker_id": "other"}
    await post(client, "register", hostname="h", pid=1)
    await post(client, "register", hostname="h", pid=2, **other)
    job = offered(server, 1)
    server.directive = "quiet"
    answer = await post(client, "heartbeat", **other)
    assert answer.json()["state"] == "quiet"
    server.directive = "running"
    server.script.add(Kind.FETCH, do=refused(503), times=1)
    assert await fetched(client, **other) == []
    assert [send_fetch.worker_id for send_fetch in server.record.all] == ["w"]
    # The rule was for the one that is judged.
    assert (await post(client, "fetch", queues=["q"])).status_code == 503
    assert [one["id"] for one in await fetched(client)] == [job.id]


async def test_a_process_that_takes_the_place_of_the_judged_one_gets_jobs(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    await post(client, "register", hostname="h", pid=1)
    await post(client, "register", hostname="h", pid=2, worker_id="later")
    waiting = asyncio.create_task(fetched(client, worker_id="later", wait_ms=30_000))
    job = offered(server, 1)
    await post(client, "deregister")
    assert [one["id"] for one in await waiting] == [job.id]
    ended = asyncio.create_task(server.changed(lambda: job.state is JobState.COMPLETED, 30))
    await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await post(client, "ack", job_id=job.id, worker_id="later")
        assert await ended
    assert {send_fetch.worker_id for send_fetch in server.record.all} == {"w"}


async def test_the_first_process_of_another_command_is_judged(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    await post(client, "register", hostname="h", pid=1)
    server.expect_another()
    await post(client, "register", hostname="h", pid=2, worker_id="later")
    assert [send_fetch.worker_id for send_fetch in server.record.all] == ["w", "later"]


@pytest.mark.parametrize(
    "again", [{"pid": 1, "worker_id": "renamed"}, {"pid": 2}, {"worker_id": "renamed"}]
)
async def test_a_process_with_two_ids_and_an_id_of_two_processes_are_recorded(
    server: PlayedServer, client: httpx.AsyncClient, again: dict[str, Any]
) -> None:
    await post(client, "register", pid=1)
    await post(client, "register", **again)
    assert len(server.record.all) == 2


async def test_all_honest_answers_are_as_the_contract_has_them(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    jobs = [offered(server, n, max_attempts=n) for n in (1, 2, 3, 4, 5)]
    await client.get("/ojs/manifest")
    await post(client, "register", hostname="h", pid=1, queues=["q"], concurrency=2)
    await fetched(client)
    await post(client, "heartbeat", state="running", active_job_ids=[jobs[0].id, "none"])
    await post(client, "ack", job_id=jobs[0].id, attempt=1, result=1)
    await post(client, "ack", job_id=jobs[0].id, attempt=1)
    await post(client, "ack", job_id="none")
    await post(client, "nack", job_id=jobs[1].id, error={"message": "m"})
    await post(client, "nack", job_id=jobs[2].id, requeue=True)
    results = [
        {"job_id": jobs[3].id, "attempt": 1, "outcome": "ack"},
        {"job_id": jobs[3].id, "attempt": 1, "outcome": "ack"},
        {"job_id": jobs[4].id, "attempt": 9, "outcome": "fail"},
        {"job_id": jobs[4].id, "attempt": 1, "outcome": "fail", "error": {"message": "m"}},
    ]
    settled = await post(client, "settle", results=results, fetch={"queues": ["q"]})
    assert [one.get("state") for one in settled.json()["results"]] == [
        "completed",
        "completed",
        None,
        "retryable",
    ]
    assert len(settled.json()["jobs"]) == 1
    await post(client, "fetch")
    await post(client, "deregister")
    checker = own_contract()
    for send_fetch in server.record.all:
        assert send_fetch.status is not None
        kind = "application/openjobspec+json"
        headers = {"content-type": kind, "ojs-version": "1.0", "x-request-id": "x"}
        received = Received(
            status=send_fetch.status, headers=headers, content=send_fetch.answer, duration_ms=0
        )
        found = checker.findings(request_of(send_fetch), received)
        assert [str(one) for one in found if one.side == "response"] == []


async def test_headers_are_those_that_a_worker_looks_for(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    plain = await client.post(f"{V1}/heartbeat", json=ME, headers={"Accept": "application/json"})
    assert plain.headers["content-type"] == "application/json"
    ours = await client.post(f"{V1}/heartbeat", json=ME, headers={"X-Request-Id": "r-1"})
    assert ours.headers["content-type"] == "application/openjobspec+json"
    assert (ours.headers["ojs-version"], ours.headers["x-request-id"]) == ("1.0", "r-1")
    assert [send_fetch.worker_id for send_fetch in server.record.all] == ["w", "w"]


async def test_directives_stand_above_what_a_worker_says(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    async def told_(state: str) -> str:
        return str((await post(client, "heartbeat", state=state)).json()["state"])

    for directive, answers in (
        ("running", ["running", "quiet", "terminate"]),
        ("quiet", ["quiet", "quiet", "terminate"]),
        ("terminate", ["terminate"] * 3),
        ("resume", ["running", "running", "terminate"]),
    ):
        server.directive = directive
        assert [await told_(state) for state in ("running", "quiet", "terminate")] == answers
    server.directive = "quiet"
    offered(server, 1)
    assert await fetched(client) == []


async def test_what_the_server_does_not_have_is_404(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    server.kinds = set(PUBLIC)
    assert (await post(client, "register")).status_code == 404
    assert (await client.get("/ojs/manifest")).status_code == 404
    assert (await post(client, "heartbeat")).status_code == 200


async def test_bad_bodies_are_refused_and_recorded(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    for content in (b"nonsense", b"[]", b"\xff", b"{", b'{"queues": []}', b'{"queues": 7}'):
        assert (await client.post(f"{V1}/fetch", content=content)).status_code == 400
    assert (await client.post(f"{V1}/heartbeat", json={})).status_code == 400
    assert server.number == 7
    assert request_findings(own_contract(), server.record.all)


async def test_a_fetch_waits_for_a_job_and_no_longer(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    waiting = asyncio.create_task(fetched(client, wait_ms=20_000))
    await server.changed(lambda: server.number == 1, 10)
    job = offered(server, 1)
    assert [one["id"] for one in await waiting] == [job.id]
    assert await fetched(client, wait_ms=10) == []
    server.holds_fetches = False
    assert await fetched(client, wait_ms=20_000) == []


async def test_a_fetch_that_hung_up_is_given_nothing(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    with pytest.raises(httpx.ReadTimeout):
        await client.post(f"{V1}/fetch", json={"queues": ["q"], "wait_ms": 20_000}, timeout=0.1)
    await server.changed(lambda: server.record.all[0].ended_at is not None, 10)
    job = offered(server, 1)
    assert job.state is JobState.WAITING
    assert "closed" in server.record.all[0].trouble


async def test_answers_are_lost_with_and_without_an_effect(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    job = offered(server, 1)
    for odd, state in ((reset(), JobState.WAITING), (lost_answer(), JobState.ACTIVE)):
        server.script.add(Kind.FETCH, do=odd, times=1)
        with pytest.raises(httpx.TransportError):
            await fetched(client)
        assert job.state is state
    assert not server.record.all[1].well
    assert server.record.all[1].delivered == (job.id,)


async def test_errors_garbage_delays_and_other_members(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    server.script.add(Kind.BEAT, do=refused(503, Retry_After="2"), times=1)
    answer = await post(client, "heartbeat")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert answer.json()["error"]["retryable"] is True
    server.script.add(Kind.BEAT, do=garbage(), times=1)
    with pytest.raises(httpx.RemoteProtocolError):
        await post(client, "heartbeat")
    server.script.add(Kind.BEAT, do=answer_with(state="dance", directive=None), times=1)
    answer = await post(client, "heartbeat")
    assert answer.json()["state"] == "dance"
    assert "directive" not in answer.json()
    let_go = asyncio.Event()
    server.script.add(Kind.BEAT, do=held_until(let_go), times=1)
    held = asyncio.create_task(post(client, "heartbeat"))
    await server.changed(lambda: server.number == 4, 10)
    let_go.set()
    assert (await held).json()["state"] == "running"
    assert [send_fetch.status for send_fetch in server.record.all] == [503, None, 200, 200]


async def test_it_goes_away_and_comes_back_to_its_port(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    await post(client, "heartbeat")
    waiting = asyncio.create_task(fetched(client, wait_ms=20_000))
    await server.changed(lambda: server.number == 2, 10)
    url = server.url
    await server.close()
    with pytest.raises(httpx.TransportError):
        await waiting
    with pytest.raises(httpx.ConnectError):
        await post(client, "heartbeat")
    await server.open()
    assert server.url == url
    assert (await post(client, "heartbeat")).json()["registered"] is True


async def test_a_flood_is_heard_no_more() -> None:
    for limits in ({"most_requests": 2}, {"most_bytes": 40}):
        server = PlayedServer(**limits)  # type: ignore[arg-type]
        await server.open()
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
            for _ in range(2):
                await post(client, "heartbeat")
            assert not server.flooded
            for _ in range(2):
                with pytest.raises(httpx.TransportError):
                    await post(client, "heartbeat")
        assert (server.flooded, server.number) == (True, 2)
        await server.close()


async def test_a_fault_in_a_rule_is_kept_apart(
    server: PlayedServer, client: httpx.AsyncClient
) -> None:
    server.script.add(Kind.BEAT, do=lambda send_fetch: refused(send_fetch.body["nothing"]))
    assert (await post(client, "heartbeat")).status_code == 200
    assert isinstance(server.fault, KeyError)


async def send_raw(server: PlayedServer, content: bytes) -> bytes:
    """Say bytes, and hear everything that comes back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(content)
    heard = await reader.read()
    writer.close()
    return heard


async def test_what_is_no_http_is_refused(server: PlayedServer) -> None:
    assert b" 400 " in await send_raw(server, b"\x16\x03\x01 hello\r\n\r\n")
    assert server.nonsense[0].startswith(b"\x16\x03\x01")
    head = b"POST /x HTTP/1.1\r\nConnection: close\r\n"
    assert b" 431 " in await send_raw(server, head + b"X-Long: " + b"x" * 70_000 + b"\r\n\r\n")
    assert server.number == 0


async def test_requests_come_in_pieces_upgraded_chunked_and_one_behind_the_other(
    server: PlayedServer,
) -> None:
    body = b'{"worker_id": "w"}'
    head = f"POST {V1}/heartbeat HTTP/1.1\r\nHost: x\r\n".encode()
    sized = head + b"Content-Length: 18\r\n"
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n12\r\n" + body + b"\r\n0\r\n\r\n"
    upgrade = sized + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + body
    expecting = sized + b"Expect: 100-continue\r\n\r\n" + body
    last = sized + b"Connection: close\r\n\r\n" + body
    heard = await send_raw(server, chunked + upgrade + expecting + last)
    assert heard.count(b"HTTP/1.1 200 OK") == 4
    assert heard.count(b"HTTP/1.1 100 Continue") == 1
    assert [send_fetch.body for send_fetch in server.record.all] == [{"worker_id": "w"}] * 4


@pytest.mark.parametrize("turns", range(6))
async def test_a_connection_that_comes_while_it_closes_is_broken(turns: int) -> None:
    server = PlayedServer()
    await server.open()
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        # Close at each stage of the loop's accepting the connection.
        for _ in range(turns):
            await asyncio.sleep(0)
        await server.close()
        gc.collect()
        client.settimeout(5)
        with pytest.raises(ConnectionResetError):
            await asyncio.to_thread(client.recv, 1)
