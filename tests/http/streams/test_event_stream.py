"""Event streams: what they tell, in which form, where they begin, go on and end."""

import asyncio
from contextlib import AsyncExitStack

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.http import shared_read
from ojs_server.http.admin import live_statistics
from ojs_server.http.shared_read import SharedRead
from ojs_server.http.streams import event_feed, statistics_stream
from ojs_server.http.streams.event_cursor import cursor_of
from ojs_server.settings import Settings
from ojs_server.store.base import StoreUnavailable
from ojs_server.store.open import open_store
from ojs_server.store.postgres.read import PostgresReader
from tests.http.conftest import connect
from tests.http.contract import contract
from tests.http.keys import KEYS
from tests.http.steps import (
    BEAT,
    JOBS,
    V1,
    WORKERS,
    active_job,
    body,
    discarded_job,
    enqueue,
    error_of,
    fetch,
    job_id,
)
from tests.http.streaming import STREAM_HEADERS, Frame, Listening, listen
from tests.http.waiting import until
from tests.openapi.operations import OPERATIONS, Operation
from tests.openapi.test_examples import JOB_ID
from tests.users_stores import on_one_store

DISCARDED = ("job.discarded", "dead_letter.added")
STREAM = f"{V1}/events/stream"


def names(frames: list[Frame]) -> list[str | None]:
    return [frame.event for frame in frames]


def error_body(listening: Listening, status: int, code: str) -> None:
    response = httpx.Response(listening.status, headers=listening.headers, content=listening.body)
    error_of(response, status, code)


async def test_a_stream_tells_what_happens_in_the_form_of_the_log(
    client: httpx.AsyncClient, server: Server
) -> None:
    await enqueue(client)
    async with listen(server, STREAM) as heard:
        assert heard.headers["content-type"] == "text/event-stream"
        job = await active_job(client, queue="email")
        await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
        found = await heard.events(3)
    page = body(await client.get(f"{V1}/events"))["events"]
    logged = [one for one in page if one["subject"] == job["id"]]
    assert names(found) == ["job.enqueued", "job.started", "job.completed"]
    about = {"job_id": job["id"], "queue": "email"}
    assert [frame.data for frame in found] == [
        {**one, "event": one["type"], **about} for one in logged
    ]


async def test_each_event_of_a_stream_says_what_it_is_about(
    client: httpx.AsyncClient, server: Server
) -> None:
    async with listen(server, STREAM) as log, listen(server, STREAM, format="realtime") as moves:
        await client.post(f"{V1}/queues/email/pause")
        job = await enqueue(client, queue="default")
        await client.post(BEAT, json={"worker_id": "w"})
        await client.post(f"{V1}/cron", json={"name": "n", "cron": "@yearly", "type": "a"})
        fired = body(await client.post(f"{V1}/cron/n/trigger"))["job_id"]
        told, moved = await log.events(5), await moves.events(5)
    assert [frame.data["event"] for frame in (*told, *moved)] == names([*told, *moved])
    about = {
        frame.event: (frame.data.get("job_id"), frame.data.get("queue"))
        for frame in told
        if frame.data.get("job_id") != fired
    }
    assert about == {
        "queue.paused": (None, "email"),
        "job.enqueued": (job["id"], "default"),
        "worker.started": (None, None),
        "cron.triggered": (None, "default"),
    }
    queues = [frame.data.get("queue") for frame in moved if frame.event == "job.state_changed"]
    assert queues == ["default", "default"]


async def test_the_emitter_of_the_express_adapter_finds_its_members(
    client: httpx.AsyncClient, server: Server
) -> None:
    kinds = "job.enqueued,job.failed,job.cancelled"
    async with listen(server, STREAM, events=kinds) as heard:
        job = await active_job(client, queue="email")
        failure = {"job_id": job["id"], "error": {"message": "boom"}}
        await client.post(f"{WORKERS}/nack", json=failure)
        await client.delete(f"{JOBS}/{job['id']}")
        found = await heard.events(3)
    assert names(found) == kinds.split(",")
    read = ("type", "jobId", "jobType", "queue", "state", "timestamp")
    for frame, state in zip(found, ("available", None, "cancelled"), strict=True):
        expected = (frame.event, job["id"], job["type"], "email", state, frame.data["time"])
        assert tuple(map(frame.data.get, read)) == expected
    async with listen(server, STREAM, events=kinds, format="realtime") as moves:
        await enqueue(client)
        (moved,) = await moves.events(1)
    assert moved.event == "job.state_changed"
    assert "jobId" not in moved.data


async def test_a_stream_waits_for_the_end_of_a_job_in_the_log(
    postgres_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    log_end = PostgresReader.log_end

    def counted(reader: PostgresReader) -> int:
        looks.append(log_end(reader))
        return looks[-1]

    monkeypatch.setattr(PostgresReader, "log_end", counted)
    server, other = (Server(Settings(), open_store(postgres_store)) for _ in range(2))
    async with server.running(), connect(server) as client, AsyncExitStack() as stack:
        job = await active_job(client)
        with other.store.transaction():
            await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
            heard = await stack.enter_async_context(
                listen(server, STREAM, channel=f"job:{job['id']}", after=cursor_of(0))
            )
            looks.clear()
            # The stream has read the log, in which the end of the job is not seen yet.
            await until(lambda: len(looks) >= 3)
        found = await heard.until_end()
    assert [name for name in names(found) if name] == [
        "job.enqueued",
        "job.started",
        "job.completed",
    ]
    other.store.close()


async def test_the_manifest_says_that_there_are_streams(client: httpx.AsyncClient) -> None:
    assert body(await client.get("/ojs/manifest"))["capabilities"]["event_streams"] is True


async def test_the_poll_streams_when_asked_to(client: httpx.AsyncClient, server: Server) -> None:
    async with listen(server, f"{V1}/events", types="job.enqueued") as heard:
        await enqueue(client)
        assert names(await heard.events(1)) == ["job.enqueued"]


@pytest.mark.parametrize(
    "query",
    [
        {"types": "job.enqueued", "queues": "email"},
        {"event_types": "job.enq*", "queue": "email,other"},
        {"types": "job.enqueued", "job_types": "test.wanted"},
        {"channel": "queue:email", "types": "job.enqueued"},
        {"channel": "all", "queue": "email", "job_types": "test.wanted"},
    ],
)
async def test_filters(client: httpx.AsyncClient, server: Server, query: dict[str, str]) -> None:
    await enqueue(client, queue="email", type="test.before")
    async with listen(server, STREAM, **query) as heard:
        await enqueue(client, queue="default", type="test.job")
        wanted = await enqueue(client, queue="email", type="test.wanted")
        (found,) = await heard.events(1)
        assert found.data["subject"] == wanted["id"]


async def test_a_queue_tells_how_its_jobs_move(client: httpx.AsyncClient, server: Server) -> None:
    first = await active_job(client, queue="email")
    async with listen(server, f"{V1}/queues/email/events") as heard:
        await client.post(f"{V1}/queues/email/pause")
        await enqueue(client, queue="default")
        await client.post(
            f"{WORKERS}/nack", json={"job_id": first["id"], "error": {"message": "boom"}}
        )
        await client.post(f"{V1}/jobs/{first['id']}/cancel")
        found = await heard.events(4)
    assert names(found) == ["queue.paused", "job.failed", "job.state_changed", "job.state_changed"]
    assert found[0].data["queue"] == "email"
    assert found[0].data["timestamp"]
    moves = [(frame.data["from"], frame.data["to"]) for frame in found[2:]]
    assert moves == [("active", "retryable"), ("retryable", "cancelled")]
    assert {frame.data["job_id"] for frame in found[2:]} == {first["id"]}


async def test_the_form_can_be_chosen(client: httpx.AsyncClient, server: Server) -> None:
    await enqueue(client, queue="email")
    path = f"{V1}/queues/email/events"
    async with (
        listen(server, path, format="catalogue") as catalogue,
        listen(server, path, types="job.state_changed") as moves,
        listen(server, STREAM, format="realtime", event_types="job.cancelled") as cancels,
    ):
        job = await enqueue(client, queue="email")
        await client.delete(f"{JOBS}/{job['id']}")
        assert names(await catalogue.events(2)) == ["job.enqueued", "job.cancelled"]
        assert [frame.data["to"] for frame in await moves.events(2)] == ["available", "cancelled"]
        (cancelled,) = await cancels.events(1)
        assert (cancelled.data["from"], cancelled.data["to"]) == ("available", "cancelled")


STATS = f"{V1}/admin/stats/stream"


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have statistics told every now and then."""
    for module in (shared_read, statistics_stream):
        monkeypatch.setattr(module, "EVERY_S", 0.05)


@pytest.mark.usefixtures("often")
async def test_statistics_are_told_at_once_and_again(
    client: httpx.AsyncClient, server: Server
) -> None:
    await enqueue(client)
    async with listen(server, STATS, {**STREAM_HEADERS, "OJS-Version": "1.0"}) as heard:
        (first,) = await heard.events(1)
        assert first.event == "metrics"
        contract().validate("#/components/schemas/StatisticsAnswer", first.data)
        assert first.data["jobs"]["available"] == 1
        job = await enqueue(client)
        await fetch(client)
        await client.post(f"{JOBS}/{job['id']}/cancel")
        told: list[Frame] = []
        # The numbers may be ahead of the events.
        while "job.cancelled" not in names(told):
            told += await heard.events(1)
        while not (told[-1].event == "metrics" and told[-1].data["jobs"]["cancelled"]):
            told += await heard.events(1)
    events = [frame for frame in told if frame.event != "metrics"]
    assert names(events) == ["job.enqueued", "job.cancelled"]
    assert {frame.data["subject"] for frame in events} == {job["id"]}


@pytest.mark.usefixtures("often")
async def test_the_admin_ui_finds_queues_workers_and_jobs_by_name(
    client: httpx.AsyncClient, server: Server
) -> None:
    await enqueue(client, queue="b", scheduled_at="2999-01-01T00:00:00Z")
    await enqueue(client, queue="a", scheduled_at="2999-01-01T00:00:00Z")
    async with listen(server, STATS) as heard:
        (first,) = await heard.events(1)
        job = await active_job(client, queue="b", worker_id="w")
        failure = {"job_id": job["id"], "worker_id": "w", "error": {"message": "boom"}}
        await client.post(f"{WORKERS}/nack", json=failure)
        told: list[Frame] = []
        while "job.failed" not in names(told):
            told += await heard.events(1)
        while not (told[-1].event == "metrics" and told[-1].data["error_rate"]):
            told += await heard.events(1)
    for frame in (first, told[-1]):
        contract().validate("#/components/schemas/LiveStatistics", frame.data)
    zeros = {"available": 0, "active": 0, "scheduled": 0, "retryable": 0}
    assert first.data["queues"] == [
        {"queue": "a", **zeros, "scheduled": 1},
        {"queue": "b", **zeros, "scheduled": 1},
    ]
    assert first.data["workers"] == {"total": 0, "active": []}
    assert first.data["error_rate"] == 0
    last = told[-1].data
    (worker,) = last["workers"]["active"]
    assert (worker["id"], worker["state"], worker["activeJobs"]) == ("w", "running", 0)
    assert last["error_rate"] == 100
    assert last["throughput"]["failed_per_second"] > 0
    events = [frame.data for frame in told if frame.event != "metrics"]
    for event in events:
        contract().validate("#/components/schemas/JobFeed", event)
    about = ("event", "job_id", "queue", "type")
    assert [tuple(event[name] for name in about) for event in events] == [
        (kind, job["id"], "b", job["type"]) for kind in ("job.enqueued", "job.failed")
    ]
    assert (events[-1]["attempt"], events[-1]["error"]) == (1, "boom")


@on_one_store
async def test_the_fullest_queues_are_told_where_there_are_many(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_statistics, "MOST", 2)
    for queue in ("a", "b", "c", "c", "b"):
        await enqueue(client, queue=queue)
    async with listen(server, STATS) as heard:
        (first,) = await heard.events(1)
    assert [queue["queue"] for queue in first.data["queues"]] == ["b", "c"]
    assert first.data["jobs"]["available"] == 5


async def test_statistics_are_read_once_for_many_streams() -> None:
    begun: list[asyncio.Event] = []

    async def read() -> bytes:
        begun.append(asyncio.Event())
        await begun[-1].wait()
        return b"%d" % len(begun)

    shared = SharedRead(read)
    waits = [asyncio.create_task(shared.latest()) for _ in range(3)]
    await until(lambda: bool(begun))
    waits[0].cancel()
    begun[0].set()
    assert await asyncio.gather(*waits[1:]) == [b"1", b"1"]
    assert await shared.latest() == b"1"
    assert len(begun) == 1


async def test_a_jobs_stream_ends_with_the_job(client: httpx.AsyncClient, server: Server) -> None:
    job = await enqueue(client)
    async with listen(server, f"{JOBS}/{job['id']}/events") as heard:
        await enqueue(client)
        await fetch(client, worker_id="w")
        await client.post(f"{WORKERS}/ack", json={"job_id": job["id"]})
        frames = [frame for frame in await heard.until_end() if frame.event or frame.retry]
    assert names(frames) == [None, "job.state_changed", "job.state_changed", None]
    assert [frame.data["to"] for frame in frames[1:3]] == ["active", "completed"]
    assert frames[-1].retry == 3_600_000


async def test_a_stream_of_a_job_sifts_and_still_ends(
    client: httpx.AsyncClient, server: Server
) -> None:
    job = await active_job(client)
    query = {"channel": f"job:{job['id']}", "types": "job.failed"}
    async with listen(server, STREAM, **query) as heard:
        nack = {"job_id": job["id"], "error": {"message": "no", "retryable": False}}
        await client.post(f"{WORKERS}/nack", json=nack)
        assert [name for name in names(await heard.until_end()) if name] == ["job.failed"]


async def test_a_job_that_has_ended_is_told_as_it_is(
    client: httpx.AsyncClient, server: Server
) -> None:
    job = await discarded_job(client)
    async with listen(server, f"{JOBS}/{job['id']}/events") as heard:
        (told,) = [frame for frame in await heard.until_end() if frame.event]
    assert (told.event, told.data["to"]) == ("job.state_changed", "discarded")
    # A client that comes back learns nothing new, and is not kept either.
    async with listen(server, f"{JOBS}/{job['id']}/events", last=told.id) as again:
        assert names([one for one in await again.until_end() if one.event]) == ["job.state_changed"]
    # A client that missed the end gets all events up to it.
    start = "evt_00000000-0000-7000-8000-000000000000"
    async with listen(server, f"{JOBS}/{job['id']}/events", last=start, format="catalogue") as late:
        told_late = [frame for frame in await late.until_end() if frame.event]
    assert names(told_late) == ["job.enqueued", "job.started", "job.failed", *DISCARDED]


async def test_a_job_that_was_revived_is_followed_past_its_earlier_end(
    client: httpx.AsyncClient, server: Server
) -> None:
    job = await discarded_job(client)
    await client.post(f"{V1}/dead-letter/{job['id']}/retry")
    start = "evt_00000000-0000-7000-8000-000000000000"
    query = {"channel": f"job:{job['id']}", "after": start}
    async with listen(server, STREAM, **query) as heard:
        assert names(await heard.events(6))[-1] == "dead_letter.retried"
        await client.delete(f"{JOBS}/{job['id']}")
        assert [name for name in names(await heard.until_end()) if name] == ["job.cancelled"]


async def test_who_comes_back_misses_nothing(client: httpx.AsyncClient, server: Server) -> None:
    async with listen(server, STREAM, types="job.enqueued") as heard:
        first = await enqueue(client)
        assert [one.data["subject"] for one in await heard.events(1)] == [first["id"]]
        last = heard.last_id
    missed = [(await enqueue(client))["id"] for _ in range(3)]
    async with listen(server, STREAM, last=last, types="job.enqueued") as back:
        fresh = await enqueue(client)
        found = [one.data["subject"] for one in await back.events(4)]
    assert found == [*missed, fresh["id"]]
    # The header takes precedence over a position in the address.
    begun = "evt_00000000-0000-7000-8000-000000000000"
    async with listen(server, STREAM, last=last, after=begun, types="job.enqueued") as both:
        assert [one.data["subject"] for one in await both.events(4)] == found


@pytest.mark.parametrize("parameter", ["after", "since", "last_event_id"])
async def test_a_stream_can_begin_at_a_place(
    client: httpx.AsyncClient, server: Server, parameter: str
) -> None:
    first, second = await enqueue(client), await enqueue(client)
    page = body(await client.get(f"{V1}/events", params={"limit": "1"}))
    assert page["events"][0]["subject"] == first["id"]
    async with listen(server, STREAM, **{parameter: page["cursor"]}) as heard:
        assert [one.data["subject"] for one in await heard.events(1)] == [second["id"]]


async def test_a_stream_that_loses_the_store_is_not_ended_as_if_it_were_whole(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await enqueue(client)
    page = body(await client.get(f"{V1}/events", params={"limit": "1"}))

    def away(*_: object) -> None:
        raise StoreUnavailable("away")

    with server.store.reader() as reader:
        monkeypatch.setattr(type(reader), "events", away)
    query = {"channel": f"job:{job['id']}", "after": page["cursor"]}
    async with listen(server, STREAM, **query) as heard, asyncio.timeout(5):
        await heard.ended.wait()
    assert (heard.status, heard.whole) == (200, False)


async def test_the_place_of_another_server_is_a_gap(
    client: httpx.AsyncClient, server: Server
) -> None:
    async with listen(server, STREAM, last="4711", types="job.*") as heard:
        await enqueue(client)
        gap, event = await heard.events(2)
    assert (gap.event, gap.data["gap_start"], gap.id) == ("system.gap", "4711", None)
    assert event.event == "job.enqueued"


async def test_a_heartbeat_moves_the_place_on(
    client: httpx.AsyncClient, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_feed, "HEARTBEAT_S", 0.05)
    async with listen(server, STREAM, types="nothing.*") as heard:
        begun = (await heard.frame()).id
        await enqueue(client)
        while (beat := await heard.frame()).id == begun:
            assert beat.comments == ["heartbeat"]
        last = heard.last_id
    async with listen(server, STREAM, last=last) as back:
        await client.post(f"{V1}/queues/q/pause")
        # The job precedes the position, although the stream did not send its event.
        assert names(await back.events(1)) == ["queue.paused"]


async def test_a_slow_client_is_told_what_it_missed(
    store_url: str,
) -> None:
    server = Server(Settings(conformance=True, stream_buffer=10), open_store(store_url))
    async with server.running(), connect(server) as client:
        async with listen(server, STREAM, types="job.enqueued") as slow:
            first = await enqueue(client)
            assert [one.data["subject"] for one in await slow.events(1)] == [first["id"]]
            slow.hold()
            jobs = [await enqueue(client)]
            # More at once would be too many for the buffer before anything is held back.
            async with asyncio.timeout(30):
                await slow.stuck.wait()
            jobs += [await enqueue(client) for _ in range(39)]
            end = (await server.engine.read(lambda reader: reader.log_span())).last
            await until(lambda: server.engine.log_reader.cursor == end)
            slow.go_on()
            frames = [await slow.frame()]
            while not frames[-1].comments:
                frames.append(await slow.frame())
            *before, dropped = frames
            notice = await slow.frame()
            after = await slow.events(10)
        assert notice.event == "system.events_dropped"
        count = notice.data["dropped_count"]
        assert dropped.comments == [f"events-dropped {count}"]
        assert count == 40 - len(before) - 10
        told = [one.data["subject"] for one in (*before, *after)]
        ids = [job["id"] for job in jobs]
        assert told == ids[: len(before)] + ids[-10:]
        # The missed events can be read from there.
        query = {"after": notice.data["after"], "types": "job.enqueued", "limit": str(count)}
        page = body(await client.get(f"{V1}/events", params=query))["events"]
        assert [one["subject"] for one in page] == ids[len(before) : len(before) + count]
        assert page[0]["id"] == notice.data["oldest_dropped_id"]
        assert page[-1]["id"] == notice.data["newest_dropped_id"]


async def test_only_what_a_slow_client_asked_for_takes_room(store_url: str) -> None:
    server = Server(Settings(stream_buffer=10), open_store(store_url))
    asked = {"format": "realtime", "types": "job.state_changed"}
    async with (
        server.running(),
        connect(server) as client,
        listen(server, STREAM, **asked) as slow,
    ):
        jobs = [await enqueue(client)]
        await slow.events(1)
        slow.hold()
        jobs.append(await enqueue(client))
        async with asyncio.timeout(30):
            await slow.stuck.wait()
        jobs.append(await enqueue(client))
        for _ in range(10):
            await client.post(f"{V1}/queues/q/pause")
            await client.post(f"{V1}/queues/q/resume")
        end = (await server.engine.read(lambda reader: reader.log_span())).last
        await until(lambda: server.engine.log_reader.cursor == end)
        slow.go_on()
        told = await slow.events(2)
    assert [one.data["job_id"] for one in told] == [job["id"] for job in jobs[1:]]


async def test_a_stopping_server_ends_its_streams(server: Server) -> None:
    async with listen(server, STREAM) as one, listen(server, STREAM) as other:
        server.begin_stop()
        for heard in (one, other):
            last = (await heard.until_end())[-1]
            assert (last.event, last.data) == ("server.shutdown", {"reason": "stopping"})
        async with listen(server, STREAM) as late:
            error_body(late, 503, "overloaded")


async def test_there_are_only_so_many_streams(store_url: str) -> None:
    server = Server(Settings(max_streams=2), open_store(store_url))
    async with server.running(), connect(server) as client:
        async with listen(server, STREAM), listen(server, STREAM):
            async with listen(server, STREAM) as third:
                error_body(third, 503, "overloaded")
                assert third.headers["retry-after"]
            text = (await client.get("/metrics")).text
            assert "ojs_event_streams 2.0" in text
        await until(lambda: len(server.engine.log_reader) == 0)
        async with listen(server, STREAM) as again:
            assert again.status == 200


async def test_who_has_left_is_noticed_and_nothing_runs_on(server: Server) -> None:
    async with listen(server, STREAM) as heard:
        assert len(server.engine.log_reader) == 1
        heard.left.set()
        async with asyncio.timeout(5):
            await heard.ended.wait()
    await until(lambda: not server.engine.log_reader.running)


@on_one_store
@pytest.mark.parametrize(
    ("path", "query", "status", "code"),
    [
        (f"{V1}/queues/nowhere/events", {}, 404, "not_found"),
        (f"{V1}/queues/No%20name/events", {}, 404, "not_found"),
        (f"{JOBS}/{job_id(404)}/events", {}, 404, "not_found"),
        (f"{JOBS}/no-id/events", {}, 404, "not_found"),
        (STREAM, {"channel": f"job:{job_id(404)}"}, 404, "not_found"),
        (STREAM, {"channel": "queue:No name"}, 400, "invalid_request"),
        (STREAM, {"channel": "jobs"}, 400, "invalid_request"),
        (STREAM, {"channel": "job:"}, 400, "invalid_request"),
        (STREAM, {"after": "yesterday"}, 400, "invalid_request"),
        (STREAM, {"since": "2030-01-31T09:00:00Z"}, 400, "invalid_request"),
        (STREAM, {"format": "xml"}, 400, "invalid_request"),
        (STREAM, {"types": ",".join(["a"] * 101)}, 400, "invalid_request"),
    ],
)
async def test_a_wrong_request_opens_nothing(
    server: Server, path: str, query: dict[str, str], status: int, code: str
) -> None:
    async with listen(server, path, **query) as heard:
        error_body(heard, status, code)
    assert len(server.engine.log_reader) == 0


async def test_head_is_answered_at_once(client: httpx.AsyncClient, server: Server) -> None:
    response = await client.head(STREAM)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream"
    assert len(server.engine.log_reader) == 0


async def test_a_stream_needs_a_key_that_may_read(keyed_client: httpx.AsyncClient) -> None:
    error_of(await keyed_client.get(STREAM), 401, "unauthenticated")
    for key in KEYS.values():
        answer = await keyed_client.head(STREAM, headers={"Authorization": f"Bearer {key}"})
        assert answer.status_code == 200


@pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if "stream" in one.id],
    ids=lambda operation: operation.id,
)
async def test_a_documented_request_is_taken(
    client: httpx.AsyncClient, server: Server, operation: Operation
) -> None:
    path, query, headers = operation.example()
    job = {"id": JOB_ID, "type": "email.send", "args": [], "queue": "email"}
    assert (await client.post(JOBS, json=job)).status_code == 201
    async with listen(server, path, last=headers["Last-Event-ID"], **query) as heard:
        assert heard.status == 200


async def test_a_channel_opens_before_its_queue_has_a_job(
    client: httpx.AsyncClient, server: Server
) -> None:
    async with listen(server, STREAM, channel="queue:new") as heard:
        assert heard.status == 200
        await enqueue(client, queue="other")
        job = await enqueue(client, queue="new")
        (told,) = await heard.events(1)
    assert (told.event, told.data["subject"]) == ("job.enqueued", job["id"])
