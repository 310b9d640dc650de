"""The calls of both clients: all those of openapi.yaml exist, and the server accepts each."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from ojs_server.app import Application, Server
from ojs_worker import BlockingClient, Client, Refused, Worker, chain
from ojs_worker.client.surface import Group, Listing, Method
from ojs_worker.testing import AsgiTransport
from ojs_worker.transport import Reply, Request
from tests.http.conftest import Serve
from tests.http.contract import Contract, document
from tests.http.listening import on_a_socket
from tests.worker.test_contract import HeldToContract

# Calls of workers or of other systems, and calls that another client method replaces.
NOT_OF_CLIENTS = {"Worker protocol", "Blackboard", "Rooms"}
IN_ANOTHER_WAY = {
    "openSocket": "client.events()",
    "streamQueueEvents": "client.events(queues=…)",
    "streamJobEvents": "client.events(job=…)",
    "streamProgress": "client.events(job=…, types=['job.progress'])",
    "streamStatistics": "client.admin.stats()",
    "logIn": "pages of the server only; clients send their key",
    "logOut": "as to log in",
}
GIVEN: dict[str, Any] = {
    "ids": ["01a1f0c0-0000-7000-8000-000000000001"],
    "job_id": "01a1f0c0-0000-7000-8000-000000000001",
    "workflow_id": "01a1f0c0-0000-7000-8000-000000000001",
    "requests": [{"type": "a.b", "args": []}],
    "events": ["job.completed"],
    "target": "https://hooks.example.org/",
    "schema": {"type": "array"},
    "uri": "urn:ojs:schema:a.b:v1.0.0",
    "version": "1.0.0",
    "job_type": "a.b",
    "queues": ["q"],
    "rules": [{"version": 1, "weight": 1}],
    "args": [],
    "priority": 3,
    "progress": 0.5,
    "enabled": False,
    "directive": "resume",
}


class Told:
    """A transport that records requests and gives meaningless answers."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Reply:
        self.requests.append(request)
        return Reply(200, b"{}")

    async def close(self) -> None: ...


def groups(client: Client | BlockingClient) -> Iterator[tuple[str, Group[Any], str, Any]]:
    """Every call of a client's groups: its name, its group, and how it is made."""
    for noun, group in vars(client).items():
        if isinstance(group, Group):
            for name, made in vars(type(group)).items():
                if isinstance(made, Method | Listing):
                    yield f"{noun}.{name}", group, name, made


def given_to(made: Any) -> dict[str, Any]:
    """Something for each argument that a call must be given."""
    needed = inspect.signature(made.make).parameters.values()
    return {
        one.name: GIVEN.get(one.name, "x")
        for one in needed
        if one.name == "ids" or (one.default is one.empty and one.kind is not one.VAR_KEYWORD)
    }


async def call(group: Group[Any], name: str, made: Any) -> None:
    """Send a call, or read a list to its end."""
    found = getattr(group, name)(**given_to(made))
    if isinstance(made, Listing):
        async for _ in found:
            pass
    else:
        await found


async def test_no_call_of_the_contract_is_missing() -> None:
    told = Told()
    client = Client(transport=told)
    for _, group, name, made in groups(client):
        try:
            await call(group, name, made)
        except Exception:
            assert told.requests, name  # it was sent; what came is no job
    flow = chain(client.request("a.b"))
    for own in (
        client.enqueue("a.b"),
        client.enqueue_many([client.request("a.b")]),
        client.get("x"),
        client.cancel("x"),
        client.result("x", timeout_s=0),
        client.start(flow),
        client.get_workflow("x"),
        client.cancel_workflow("x"),
        client.put_cron("x", "* * * * *", "a.b"),
        client.get_cron("x"),
        client.list_crons(),
        client.delete_cron("x"),
        client.trigger_cron("x"),
        client.manifest(),
    ):
        await asyncio.gather(own, return_exceptions=True)
    paths = Contract(document(), shut=False)
    sent = {
        (request.method.lower(), paths.path_of(urlsplit(request.path).path))
        for request in told.requests
    }
    sent.add(("get", "/ojs/v1/events/stream"))  # client.events(), which needs a stream
    missing = [
        operation["operationId"]
        for path, methods in document()["paths"].items()
        for verb, operation in methods.items()
        if verb in ("get", "post", "put", "patch", "delete")
        and "x-alias-of" not in operation
        and not NOT_OF_CLIENTS & {*operation["tags"]}
        and operation["operationId"] not in IN_ANOTHER_WAY
        and (verb, path) not in sent
    ]
    assert missing == []


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


async def test_every_call_is_as_documented(server: Server) -> None:
    way = HeldToContract(server)
    client = Client(transport=way)
    await client.enqueue("a.b", queue="x")
    misunderstood = []
    for named, group, name, made in groups(client):
        if named == "admin.reset":
            continue
        try:
            await call(group, name, made)
        except Refused as refused:
            # There may be no such thing here; but there is such a call, and it is understood.
            known = refused.status != 404 or "resource_type" in refused.details
            if refused.status in (400, 405, 422) or not known:
                misunderstood.append((named, str(refused)))
    assert misunderstood == []
    assert len(way.calls) > 80


async def test_what_clients_repeat_may_be_sent_twice(server: Server) -> None:
    """A call that is repeated must not be refused because of itself, nor say something else."""
    way = AsgiTransport(Application(server))
    client = Client(transport=way)
    await way.send(Request("POST", "/ojs/v1/workers/register", b'{"worker_id":"x"}'))
    await client.schemas.register(GIVEN["uri"], GIVEN["schema"])
    there = {"job_id": (await client.enqueue("a.b", queue="x")).id}
    await client.put_cron("x", "* * * * *", "a.b")
    await client.tenants.put("x")
    await client.pools.put("x", ["x"])
    different, refused = [], set()
    for named, group, name, made in groups(client):
        given = {**given_to(made), **of(made, there)}
        call = None if isinstance(made, Listing) else made.make(**given)
        if call is None or call.request.method == "GET" or not call.repeatable or call.keyed:
            continue
        told = [await outcome(getattr(group, name)(**given)) for _ in range(2)]
        if told[0] != told[1]:
            different.append((named, told))
        if told[0]:
            refused.add(named)
    assert different == []
    # A subscription would have to be made under an id that only the server knows.
    assert refused == {"webhooks.change"}


def of(made: Any, there: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that a call takes, out of these."""
    return {name: there[name] for name in inspect.signature(made.make).parameters if name in there}


async def outcome(call: Awaitable[Any]) -> int:
    """The status of a refusal; 0 for none."""
    try:
        await call
    except Refused as refused:
        return refused.status
    return 0


async def test_lists_go_on_over_their_pages(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ojs_worker.client.surface.PAGE", 2)
    async with Client(transport=AsgiTransport(Application(server))) as client:
        made = [await client.enqueue("a.b", tags=["t"]) for _ in range(5)]
        await client.enqueue("c.d")
        found = [job.id async for job in client.jobs.list(type="a.b")]
        assert sorted(found) == sorted(job.id for job in made)
        events = [one async for one in client.event_log.list(types=["job.enqueued"])]
        assert [one.subject for one in events][:5] == [job.id for job in made]
        await client.jobs.cancel_many(found[:3])
        assert len([1 async for _ in client.jobs.list(state="cancelled")]) == 3
        with pytest.raises(ValueError, match="give ids, or a filter"):
            await client.jobs.cancel_many()


async def test_blocking_clients_have_the_same_calls(server: Server) -> None:
    async with on_a_socket(server) as url:

        def work() -> list[str]:
            with BlockingClient(url) as client:
                job = client.enqueue("a.b", queue="mail")
                client.queues.pause("mail")
                assert client.queues.get("mail")["paused"]
                assert client.jobs.prioritize(job.id, 7).priority == 7
                return [one.id for one in client.jobs.list(queue="mail")]

        assert len(await asyncio.to_thread(work)) == 1


async def test_the_events_of_a_job_end_with_it(server: Server) -> None:
    async with on_a_socket(server) as url:
        worker = Worker(url)

        @worker.job("a.b")
        async def handler() -> None: ...

        async with Client(url) as client, worker:
            job = await client.enqueue("a.b")
            async with asyncio.timeout(20):
                await client.result(job)
                (first,) = [one async for one in client.event_log.list(types=["job.enqueued"])]
                seen = [event async for event in client.events(job=job, after=first.id)]
        assert [event.type for event in seen] == ["job.started", "job.completed"]
        assert {event.subject for event in seen} == {job.id}
