"""The WebSocket: channels, filters, coming back, slow clients, and who may connect."""

from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pytest

from ojs_server.app import Server
from ojs_server.domain.errors import Unavailable
from ojs_server.http.access.keys import parse_keys
from ojs_server.http.streams import event_feed, websocket
from ojs_server.settings import Settings
from ojs_server.store.base import Reader
from ojs_server.store.open import open_store
from tests.http.conftest import Serve, connect
from tests.http.keys import KEYS, bearer
from tests.http.socketing import PATH, talk
from tests.http.steps import V1, WORKERS, active_job, body, enqueue, error_of, job_id
from tests.http.waiting import until
from tests.users_stores import on_one_store


async def test_a_channel_tells_what_happens(server: Server, client: httpx.AsyncClient) -> None:
    async with talk(server, offered=("ojs.v1",)) as heard:
        assert heard.subprotocol == "ojs.v1"
        assert await heard.subscribe("all") == {"type": "subscribed", "channel": "all"}
        job = await active_job(client, queue="email")
        await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
        found = await heard.events(3)
    assert [one["event"] for one in found] == ["job.state_changed"] * 3
    assert [one["data"]["to"] for one in found] == ["available", "active", "completed"]
    assert {one["channel"] for one in found} == {"all"}
    logged = body(await client.get(f"{V1}/events"))["events"]
    assert [one["id"] for one in found] == [event["id"] for event in logged]
    assert {(one["job_id"], one["queue"]) for one in found} == {(job["id"], "email")}


async def test_channels_of_jobs_and_queues_are_told_apart(
    server: Server, client: httpx.AsyncClient
) -> None:
    mine = await enqueue(client, queue="a")
    await client.post(f"{V1}/queues/b/resume")
    async with talk(server) as heard:
        await heard.subscribe(f"job:{mine['id']}")
        await heard.subscribe("queue:b")
        await enqueue(client, queue="c")
        await active_job(client, queue="b")
        await client.delete(f"{V1}/jobs/{mine['id']}")
        found = await heard.events(3)
        by_channel = [one for one in found if one["channel"] == "queue:b"]
        assert [one["data"]["to"] for one in by_channel] == ["available", "active"]
        (own,) = [one for one in found if one["channel"] != "queue:b"]
        assert (own["data"]["job_id"], own["data"]["to"]) == (mine["id"], "cancelled")


async def test_a_filter_and_its_replacement(server: Server, client: httpx.AsyncClient) -> None:
    async with talk(server) as heard:
        ack = await heard.subscribe("all", event_types=["job.completed"], format="catalogue")
        assert ack["event_types"] == ["job.completed"]
        job = await active_job(client)
        await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
        (done,) = await heard.events(1)
        assert (done["event"], done["data"]["job_id"]) == ("job.completed", job["id"])
        await heard.subscribe("all", event_types=["job.enqueued"], format="catalogue")
        await enqueue(client)
        assert (await heard.events(1))[0]["event"] == "job.enqueued"
        heard.say(action="unsubscribe", channel="all")
        assert await heard.heard() == {"type": "unsubscribed", "channel": "all"}
        heard.say(action="unsubscribe", channel="all")
        assert (await heard.heard())["code"] == "not_found"


async def test_the_channel_of_the_events_document(
    server: Server, client: httpx.AsyncClient
) -> None:
    async with talk(server) as heard:
        narrow = {"event_types": ["job.*"], "queues": ["q"]}
        ack = await heard.subscribe("events", filter=narrow)
        assert ack["action"] == "subscribed"
        assert ack["subscription_id"] == "events"
        await enqueue(client, queue="r")
        await enqueue(client, queue="q")
        (told,) = await heard.events(1)
        assert (told["event"], told["data"]["queue"]) == ("job.enqueued", "q")


async def test_an_ended_job_says_its_state_once(server: Server, client: httpx.AsyncClient) -> None:
    job = await enqueue(client)
    await client.delete(f"{V1}/jobs/{job['id']}")
    async with talk(server) as heard:
        await heard.subscribe(f"job:{job['id']}")
        (now,) = await heard.events(1)
        assert (now["event"], now["data"]["to"]) == ("job.state_changed", "cancelled")
        assert "id" not in now
        assert (now["job_id"], now["queue"]) == (job["id"], "default")


async def test_a_subscription_has_one_answer(
    server: Server, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await enqueue(client)
    await client.delete(f"{V1}/jobs/{job['id']}")
    read, reads = server.engine.read, 0

    async def fails_later(question: Callable[[Reader], object]) -> object:
        nonlocal reads
        reads += 1
        # The job is there, and the end of the log was read.
        if reads == 3:
            raise Unavailable("not now")
        return await read(question)

    monkeypatch.setattr(server.engine, "read", fails_later)
    async with talk(server) as heard:
        assert (await heard.subscribe(f"job:{job['id']}"))["type"] == "error"
        assert (await heard.subscribe(f"job:{job['id']}"))["type"] == "subscribed"
        assert (await heard.heard())["data"]["to"] == "cancelled"


@pytest.mark.parametrize("first", ["resume", "subscribe"])
async def test_who_comes_back_misses_nothing(
    server: Server, client: httpx.AsyncClient, first: str
) -> None:
    async with talk(server) as heard:
        await heard.subscribe("all")
        await enqueue(client)
        (last,) = await heard.events(1)
    missed = [await enqueue(client) for _ in range(3)]
    async with talk(server) as heard:
        if first == "subscribe":
            await heard.subscribe("all")
        heard.say(action="resume", last_event_id=last["id"])
        assert (await heard.heard())["type"] == "resumed"
        if first == "resume":
            await heard.subscribe("all")
        missed.append(await enqueue(client))
        found = await heard.events(4)
    assert [one["data"]["job_id"] for one in found] == [job["id"] for job in missed]


async def test_behind_a_resume_there_is_nothing_from_before(
    server: Server, client: httpx.AsyncClient
) -> None:
    async with talk(server) as heard:
        await heard.subscribe("all")
        jobs = [await enqueue(client)]
        (first,) = await heard.events(1)
        heard.hold()
        jobs += [await enqueue(client) for _ in range(3)]
        span = await server.engine.read(lambda reader: reader.log_span())
        await until(lambda: server.engine.log_reader.cursor >= span.last)
        heard.say(action="resume", last_event_id=first["id"])
        await until(lambda: heard.all_is_received)
        # One message passes of each sender that waits.
        heard.go_on()
        heard.hold()
        await heard.events(1)
        heard.go_on()
        while (await heard.heard())["type"] == "event":
            # These were on their way.
            pass
        found = await heard.events(3)
    assert [one["data"]["job_id"] for one in found] == [job["id"] for job in jobs[1:]]


async def test_a_channel_that_cannot_begin_again_is_named(store_url: str) -> None:
    server = Server(Settings(max_streams=1), open_store(store_url))
    async with server.running(), talk(server) as heard, talk(server) as other:
        await heard.subscribe("all")
        heard.hold()
        heard.say(action="resume", last_event_id="evt_00000000-0000-7000-8000-000000000001")
        await until(lambda: len(server.engine.log_reader) == 0)
        await other.subscribe("all")
        heard.go_on()
        assert (await heard.heard())["type"] == "resumed"
        told = await heard.heard()
    assert (told["type"], told["code"], told["channel"]) == ("error", "overloaded", "all")


async def test_a_place_that_is_not_known_is_said(server: Server, client: httpx.AsyncClient) -> None:
    async with talk(server) as heard:
        heard.say(action="resume", last_event_id="evt_1")
        told = await heard.heard()
        assert (told["type"], told["code"]) == ("error", "unknown_event_id")
        heard.say(action="resume", last_event_id="evt_00000000-0000-7000-8000-000000000001")
        assert (await heard.heard())["type"] == "resumed"
        await enqueue(client)
        await heard.subscribe("all")
        gap, event = await heard.events(2)
        assert (gap["event"], event["event"]) == ("system.gap", "job.state_changed")


@on_one_store
@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("no json", "invalid_request"),
        ("[]", "invalid_request"),
        ("{}", "invalid_request"),
        ('{"action":"subscrib","channel":"all"}', "invalid_request"),
        ('{"action":"subscribe"}', "invalid_request"),
        ('{"action":"subscribe","channel":"al"}', "invalid_request"),
        ('{"action":"subscribe","channel":7}', "invalid_request"),
        ('{"action":"subscribe","channel":"all","format":"x"}', "invalid_request"),
        ('{"action":"subscribe","channel":"queue:nowhere"}', "not_found"),
        ('{"action":"subscribe","channel":"job:nowhere"}', "not_found"),
        (f'{{"action":"subscribe","channel":"job:{job_id(9)}"}}', "not_found"),
        ('{"action":"unsubscribe","channel":"all"}', "not_found"),
    ],
)
async def test_a_wrong_message_is_answered_and_the_connection_stays(
    server: Server, said: str, code: str
) -> None:
    async with talk(server) as heard:
        heard.send_text(said)
        told = await heard.heard()
        assert (told["type"], told["code"]) == ("error", code)
        assert told["message"]
        assert (await heard.subscribe("all"))["type"] == "subscribed"
    assert len(server.engine.log_reader) == 0


async def test_bytes_end_the_connection(server: Server) -> None:
    async with talk(server) as heard:
        heard.send_bytes(b"\0")
        await until(lambda: heard.closed is not None)
        assert heard.closed == 1003


async def test_there_are_only_so_many_channels(
    server: Server, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "MAX_CHANNELS", 2)
    await enqueue(client, queue="a")
    async with talk(server) as heard:
        await heard.subscribe("all")
        await heard.subscribe("events")
        assert (await heard.subscribe("queue:a"))["code"] == "invalid_request"
        # An open channel may be subscribed to again.
        assert (await heard.subscribe("all"))["type"] == "subscribed"
        assert len(server.engine.log_reader) == 2


async def test_a_slow_client_is_told_what_it_missed(store_url: str) -> None:
    server = Server(Settings(stream_buffer=3), open_store(store_url))
    async with server.running(), connect(server) as client, talk(server) as heard:
        await heard.subscribe("all")
        await enqueue(client)
        await heard.events(1)
        heard.hold()
        jobs = [await enqueue(client) for _ in range(12)]
        span = await server.engine.read(lambda reader: reader.log_span())
        # All of them have been read before the client reads on.
        await until(lambda: server.engine.log_reader.cursor >= span.last)
        heard.go_on()
        told: list[Any] = []
        while not told or told[-1].get("data", {}).get("job_id") != jobs[-1]["id"]:
            told.append(await heard.heard())
        warnings = [one for one in told if one["type"] == "warning"]
        assert {(one["code"], one["channel"]) for one in warnings} == {("events_dropped", "all")}
        events = [one["data"]["job_id"] for one in told if one["type"] == "event"]
        assert sum(one["count"] for one in warnings) + len(events) == len(jobs)
        assert events[-3:] == [job["id"] for job in jobs[-3:]]


@pytest.mark.parametrize("kind", ["job.cancelled", "job.state_changed"])
async def test_only_what_a_slow_client_asked_for_waits_and_is_missed(
    store_url: str, kind: str
) -> None:
    server = Server(Settings(stream_buffer=3), open_store(store_url))
    async with server.running(), connect(server) as client, talk(server) as heard:
        await heard.subscribe("all", event_types=[kind])
        first = await enqueue(client)
        await client.delete(f"{V1}/jobs/{first['id']}")
        found = await heard.events(1 if kind == "job.cancelled" else 2)
        heard.hold()
        # None of these is an event that was asked for.
        for _ in range(12):
            await client.post(f"{V1}/queues/other/pause")
            await client.post(f"{V1}/queues/other/resume")
        last = await enqueue(client)
        await client.delete(f"{V1}/jobs/{last['id']}")
        span = await server.engine.read(lambda reader: reader.log_span())
        await until(lambda: server.engine.log_reader.cursor >= span.last)
        heard.go_on()
        found += await heard.events(len(found))
    assert {one["data"]["job_id"] for one in found} == {first["id"], last["id"]}


async def test_a_new_filter_tells_nothing_from_before(
    server: Server, client: httpx.AsyncClient
) -> None:
    async with talk(server) as heard:
        await heard.subscribe("all", event_types=["job.completed"])
        await enqueue(client)
        span = await server.engine.read(lambda reader: reader.log_span())
        await until(lambda: server.engine.log_reader.cursor >= span.last)
        await heard.subscribe("all", event_types=["job.enqueued"])
        second = await enqueue(client)
        (told,) = await heard.events(1)
    assert told["data"]["job_id"] == second["id"]


async def test_a_new_filter_loses_nothing_of_a_replay(
    server: Server, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_feed, "REPLAY", 2)
    jobs = [await enqueue(client) for _ in range(5)]
    async with talk(server) as heard, talk(server) as other:
        # The log is followed for another one.
        await other.subscribe("all")
        heard.say(action="resume", last_event_id="evt_00000000-0000-7000-8000-000000000000")
        await heard.heard()
        await heard.subscribe("all")
        heard.hold()
        heard.say(action="subscribe", channel="all", event_types=["job.*"])
        await until(lambda: heard.all_is_received)
        heard.go_on()
        told = [await heard.heard() for _ in range(6)]
    found = [one["data"]["job_id"] for one in told if one["type"] == "event"]
    assert found == [job["id"] for job in jobs]


async def test_a_stop_is_said_and_ends_the_connection(server: Server) -> None:
    async with talk(server) as heard:
        for channel in ("all", "events"):
            await heard.subscribe(channel)
        server.begin_stop()
        # On a busy machine uvicorn closes at once, before the client can say good-bye.
        heard.leave()
        assert {(one["event"], one["channel"]) for one in await heard.events(2)} == {
            ("server.shutdown", "all"),
            ("server.shutdown", "events"),
        }
        await until(lambda: heard.closed == 1001)
    async with talk(server) as late:
        assert late.status == 503


async def test_a_log_that_cannot_be_followed_ends_the_connection(
    server: Server, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(cursor: int, limit: int) -> None:
        raise RuntimeError("no page")

    async with talk(server) as heard:
        for channel in ("all", "events"):
            await heard.subscribe(channel)
        monkeypatch.setattr(server.engine.log_reader, "_page", fails)
        await enqueue(client)
        await until(lambda: heard.closed == 1011)


async def test_a_key_is_needed_where_the_api_needs_one(serve: Serve) -> None:
    async with serve(keys=parse_keys("", KEYS)) as server:
        async with talk(server) as refused:
            assert refused.status == 401
            assert msgspec.json.decode(refused.refusal)["error"]["code"] == "unauthenticated"
        async with talk(server, headers=bearer("worker")) as taken:
            assert taken.status == 101


@on_one_store
@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (PATH, {"host": "localhost", "origin": "http://localhost"}, 101),
        (PATH, {"host": "localhost", "origin": "http://evil.test"}, 403),
        (PATH, {"host": "localhost", "origin": "null"}, 403),
        (PATH, {"ojs-version": "9.0"}, 422),
        ("/ojs/v1/events/stream", {}, 404),
    ],
)
async def test_who_may_connect(
    server: Server, path: str, headers: dict[str, str], status: int
) -> None:
    async with talk(server, path, headers=headers) as heard:
        assert heard.status == status


async def test_the_path_says_what_it_is_for(client: httpx.AsyncClient) -> None:
    error_of(await client.get(PATH), 422, "unsupported")
