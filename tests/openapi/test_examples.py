"""Every example of the contract is true: requests are taken, answers fit their schemas."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from typing import Any

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.domain.webhooks.delivery import Delivery
from ojs_server.domain.webhooks.request import parse_changes
from ojs_server.domain.webhooks.request import subscribed as webhook_of
from ojs_server.domain.webhooks.target import Reach
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from tests.http.conftest import ALL_CALLS, Serve, connect
from tests.http.contract import PLAIN_JSON, Contract, Deviation, contract, document, escape
from tests.http.steps import JOBS, V1, WORKERS
from tests.openapi.operations import OPERATIONS, Operation

REQUESTS = Contract(document(), shut=False)
RESPONSES = document()["components"]["responses"]
JOB_ID = document()["components"]["parameters"]["JobId"]["example"]
WORKFLOW_ID = document()["components"]["parameters"]["WorkflowId"]["example"]
WEBHOOK_ID = document()["components"]["parameters"]["WebhookId"]["example"]
DELIVERY_ID = document()["components"]["parameters"]["DeliveryId"]["example"]
CRON_NAME = document()["components"]["parameters"]["CronName"]["example"]

# The second media type has the schema of the first one, and leaves the examples to it.
ANSWERS = [
    (f"#/components/responses/{name}/content/{escape(media_type)}/schema", label, example["value"])
    for name, response in RESPONSES.items()
    for media_type, content in response.get("content", {}).items()
    if media_type != PLAIN_JSON
    for label, example in content["examples"].items()
]
BODIES = [
    (f"#/components/requestBodies/{name}/content/{escape(media_type)}/schema", label, example)
    for name, body in document()["components"]["requestBodies"].items()
    for media_type, content in body["content"].items()
    if media_type != PLAIN_JSON
    for label, example in ((key, value["value"]) for key, value in content["examples"].items())
]

Story = Callable[[httpx.AsyncClient], Awaitable[None]]


def test_each_example_fits_its_schema() -> None:
    for held_to, examples in ((contract(), ANSWERS), (REQUESTS, BODIES)):
        for schema, label, value in examples:
            try:
                held_to.validate(schema, value)
            except Deviation as deviation:
                pytest.fail(f"example {label!r} {deviation}")


def test_an_example_stands_by_every_body_and_answer() -> None:
    with_body = {name for name, response in RESPONSES.items() if "content" in response}
    assert {schema.split("/")[3] for schema, _, _ in ANSWERS} == with_body


async def active(client: httpx.AsyncClient) -> None:
    """Worker-1 exists and holds the job of the examples."""
    await client.post(f"{WORKERS}/register", json={"worker_id": "worker-1", "queues": ["email"]})
    job = {"id": JOB_ID, "type": "email.send", "args": [], "queue": "email"}
    assert (await client.post(JOBS, json=job)).status_code == 201
    await client.post(f"{WORKERS}/fetch", json={"queues": ["email"], "worker_id": "worker-1"})


async def pending(client: httpx.AsyncClient) -> None:
    """The job waits to be activated."""
    await client.post(JOBS, json={"id": JOB_ID, "type": "a", "args": [], "pending": True})


async def discarded(client: httpx.AsyncClient) -> None:
    """The job is a dead letter."""
    await active(client)
    await client.post(f"{WORKERS}/nack", json={"job_id": JOB_ID, "error": {"retryable": False}})


async def limited(client: httpx.AsyncClient) -> None:
    """A job names the rate key of the examples."""
    policy = {"key": "stripe-api", "concurrency": 5}
    job = {"type": "a", "args": [], "rate_limit": policy}
    assert (await client.post(JOBS, json=job)).status_code == 201


async def registered(client: httpx.AsyncClient) -> None:
    """The cron entry of the examples is there."""
    entry = {"name": CRON_NAME, "expression": "@daily", "type": "report.build"}
    assert (await client.post(f"{V1}/cron", json=entry)).status_code == 201


async def begun(client: httpx.AsyncClient) -> None:
    """The workflow of the examples runs."""
    body = {"id": WORKFLOW_ID, "type": "chain", "steps": [{"type": "a", "args": []}]}
    assert (await client.post(f"{V1}/workflows", json=body)).status_code == 201


async def saved(client: httpx.AsyncClient) -> None:
    """The job has a checkpoint."""
    await active(client)
    response = await client.put(f"{JOBS}/{JOB_ID}/checkpoint", json={"state": None})
    assert response.status_code == 200


async def described(client: httpx.AsyncClient) -> None:
    """The type of the examples has a schema."""
    path = f"{V1}/admin/schemas/email.send/2"
    assert (await client.put(path, json={"schema": {"type": "array"}})).status_code == 201


async def configured(client: httpx.AsyncClient) -> None:
    """The tenant, the pool and the routing of the examples are there."""
    pool, routing = {"queues": ["email"]}, {"rules": [{"version": 1, "weight": 1}]}
    for path, body in (
        ("tenants/acme/limits", {}),
        ("pools/critical", pool),
        ("routing/email.send", routing),
    ):
        assert (await client.put(f"{V1}/admin/{path}", json=body)).status_code == 201


def subscribed(store: Store) -> None:
    """The subscription and the delivery of the examples are there, which name themselves."""
    changes = parse_changes({"url": "https://example.com/", "events": ["*"]}, Reach())
    webhook = webhook_of(changes, WEBHOOK_ID, "a-shared-secret", 1)
    place = DELIVERY_ID, WEBHOOK_ID, "evt_" + JOB_ID
    with store.transaction() as tx:
        tx.insert_webhooks([webhook])
        # An old one would be removed.
        end = tx.now, tx.now
        tx.insert_deliveries([Delivery(*place, "job.failed", b"{}", "dead", 8, None, *end)])


async def able(client: httpx.AsyncClient) -> None:
    """A worker runs the function block of the examples."""
    await client.post(f"{WORKERS}/register", json={"functionBlocks": ["configBackup"]})


# Preparations that the examples of an operation need.
BEFORE: dict[str, Story] = {
    "putBoardJob": able,
    "activateJob": pending,
    **dict.fromkeys(("prioritizeJob", "patchJob"), pending),
    "retryJobAsAdmin": discarded,
    **dict.fromkeys(("getTenant", "saveTenant", "deleteTenant", "limitTenant"), configured),
    **dict.fromkeys(("getPool", "savePool", "deletePool"), configured),
    **dict.fromkeys(("getRouting", "saveRouting", "deleteRouting"), configured),
    "getRateLimit": limited,
    "getDeadLetter": discarded,
    "deleteDeadLetter": discarded,
    "retryDeadLetter": discarded,
    "deleteQueue": discarded,
    **dict.fromkeys(
        ("retryBulk", "deleteBulk", "retryBulkForAdmin", "deleteBulkForAdmin"), discarded
    ),
    **dict.fromkeys(("retryDeadLetters", "purgeDeadLetters", "purgeDeadLettersByPost"), discarded),
    **dict.fromkeys(("retryDeadLettersForAdmin", "purgeDeadLettersForAdmin"), discarded),
    **dict.fromkeys(("getDeadLetterForAdmin", "deleteDeadLetterForAdmin"), discarded),
    "retryDeadLetterForAdmin": discarded,
    **dict.fromkeys(("pauseCron", "resumeCron"), registered),
    **dict.fromkeys(("getCron", "amendCron", "deleteCron"), registered),
    **dict.fromkeys(("getCrons", "amendCrons", "deleteCrons"), registered),
    **dict.fromkeys(("triggerCron", "getCronHistory"), registered),
    **dict.fromkeys(("getWorkflow", "getWorkflowProgress"), begun),
    **dict.fromkeys(("cancelWorkflow", "cancelWorkflowByPost", "retryWorkflow"), begun),
    **dict.fromkeys(("getSchema", "getSchemaVersions", "getSchemaVersion"), described),
    **dict.fromkeys(("getSchemaForAdmin", "getSchemaVersionsForAdmin"), described),
    **dict.fromkeys(
        ("getSchemaVersionForAdmin", "removeSchema", "removeSchemaForAdmin"), described
    ),
    **dict.fromkeys(("removeSchemaByUri", "removeSchemaByUriForAdmin"), described),
    **dict.fromkeys(("validateBySchema", "validateBySchemaForAdmin"), described),
    "getCheckpoint": saved,
    "getCheckpointById": saved,
    "getCheckpointBySdk": saved,
    "resumeJob": saved,
    "resumeJobBySdk": saved,
}
# The first documented status is not what the examples lead to.
OTHERWISE = {
    "getJobResult": 202,
    "logIn": 404,
    "openSocket": 422,
    "removeWorker": 409,
    "retryWorkflow": 409,
}


# Their examples are played in tests/http by test_event_stream.py and test_sessions.py, which read
# what never ends.
STREAMS = {
    *("streamEvents", "streamQueueEvents", "streamJobEvents", "streamProgress"),
    *("streamStatistics", "holdSession"),
}
ENDING = [operation for operation in OPERATIONS if operation.id not in STREAMS]


# Their examples need a subscription, which only a store can give its id.
ABOUT_WEBHOOKS = [each for each in ENDING if "Webhooks" in each.definition["tags"]]


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Server]:
    async with serve(profile=ALL_CALLS) as running:
        yield running


async def otherwise(client: httpx.AsyncClient, operation: Operation, body: Any) -> str | None:
    """The answer to an example, unless it is the documented one."""
    path, query, headers = operation.example()
    await BEFORE.get(operation.id, active)(client)
    response = await client.request(
        operation.method, path, params=query, headers=headers, json=body
    )
    wanted = OTHERWISE.get(operation.id, operation.success)
    await client.post(f"{V1}/admin/reset")
    return None if response.status_code == wanted else response.text


async def test_each_documented_request_is_taken(client: httpx.AsyncClient) -> None:
    for operation in ENDING:
        if operation not in ABOUT_WEBHOOKS:
            for name, body in operation.bodies():
                found = await otherwise(client, operation, body)
                assert found is None, (operation.id, name)


async def test_each_documented_request_about_webhooks_is_taken(
    serve: Serve, store_url: str
) -> None:
    for operation in ABOUT_WEBHOOKS:
        for name, body in operation.bodies():
            # A store runs one transaction at a time, so the server's own is not used beside it.
            with closing(open_store(store_url)) as store:
                subscribed(store)
            async with serve(profile=ALL_CALLS) as server, connect(server) as client:
                found = await otherwise(client, operation, body)
            assert found is None, (operation.id, name)
