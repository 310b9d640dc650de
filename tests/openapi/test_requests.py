"""Server and contract take and refuse the same bodies, where a schema has many spellings."""

from typing import Any

import httpx
import pytest

from tests.http.contract import Contract, Deviation, document
from tests.http.steps import JOBS, V1
from tests.users_stores import on_one_store

REQUESTS = Contract(document(), shut=False)
CONFIG = ("PUT", f"{V1}/queues/q/config", "QueueConfigRequest")
LIMITS = ("PUT", f"{V1}/queues/q/rate-limit", "Limits")
KEY = ("PUT", f"{V1}/rate-limits/k", "OverrideRequest")
PURGE = ("DELETE", f"{V1}/queues/q/jobs", "PurgeRequest")
FLOW = ("POST", f"{V1}/workflows", "WorkflowRequest")
JOB = ("POST", JOBS, "EnqueueRequest")
CANCEL = ("POST", f"{JOBS}/bulk/cancel", "CancelBulkRequest")
CANCEL_ALL = ("POST", f"{V1}/admin/jobs/bulk/cancel", "CancelBulkForAdminRequest")
DELETE = ("POST", f"{JOBS}/bulk/delete", "DeleteBulkRequest")
DEAD = ("DELETE", f"{V1}/dead-letter", "DeadLetterBulkRequest")

STEP = {"type": "t", "args": []}
DONE = {"on_complete": STEP}
WAITS = {**STEP, "depends_on": ["0"]}


def limited(policy: object) -> dict[str, object]:
    """A job with a limit."""
    return {**STEP, "rate_limit": policy}


TAKEN: list[tuple[tuple[str, str, str], Any]] = [
    (CONFIG, {"visibility_timeout": "PT2M", "default_timeout": "90s"}),
    (CONFIG, {"visibility_timeout": 0.5, "default_timeout": None}),
    (CONFIG, {"visibility_timeout_ms": 500, "default_timeout_ms": "1s"}),
    (CONFIG, {"retention": {"completed": "1s", "cancelled": 1.5, "discarded": "P1DT1H"}}),
    (CONFIG, {"retention": None, "allowed_job_types": None}),
    (CONFIG, {"rate": 5, "max_depth": 3}),
    (CONFIG, {"concurrency": {"limit": 5, "active": 1, "available": 4}}),
    (LIMITS, {"rate": {"limit": 1, "period": "PT1H"}}),
    (LIMITS, {"throttle": {"limit": 1, "period": "PT1.5S"}}),
    (LIMITS, {"rate": 1, "period": None}),
    (KEY, {"limit": 1, "expires_at": "+1.5h"}),
    (KEY, {"limit": 1, "expires_at": "2950-02-28T09:30:00.5+01:00"}),
    (PURGE, {"confirm": True, "older_than": 0.5}),
    (PURGE, {"confirm": True, "older_than": "1.5h"}),
    (PURGE, {"confirm": True, "older_than": "2000-01-31T09:00:00+01:00"}),
    (JOB, limited({"rate": 1})),
    (JOB, limited({"throttle": {"limit": 1}})),
    (JOB, limited({"limit": 1, "period": "day"})),
    (JOB, limited({"concurrency": {"limit": 1}})),
    (CANCEL, {"filter": {"queue": "q"}, "confirm": True, "atomicity": "partial"}),
    (CANCEL, {"filter": {"queue": "q"}, "confirm": None}),
    (CANCEL, {"filter": {}, "confirm": True, "job_ids": None, "queue": None}),
    (CANCEL, {"states": ["available"], "filter": None}),
    (CANCEL, {"older_than": 0.5}),
    (CANCEL, {"filter": {"older_than": "2000-01-31T09:00:00+01:00"}}),
    (CANCEL, {"meta": {"a": 1}, "confirm": True, "queue": None}),
    (CANCEL_ALL, {"queue": "q", "confirm": True}),
    (CANCEL_ALL, {"filter": {}, "confirm": True}),
    (DELETE, {"filter": {}, "confirm": True}),
    (DELETE, {"state": "completed", "confirm": True}),
    (DEAD, {"confirm": True}),
    (DEAD, {"confirm": True, "older_than": "P1D"}),
    (FLOW, {"type": "chain", "jobs": [STEP]}),
    (FLOW, {"workflow_type": "chain", "steps": [STEP]}),
    (FLOW, {"type": "group", "steps": [STEP]}),
    (FLOW, {"workflow_type": "group", "jobs": [STEP]}),
    (FLOW, {"workflow_type": "batch", "steps": [STEP], "callbacks": DONE}),
    (FLOW, {"type": "batch", "steps": [STEP], "callbacks": DONE}),
    (FLOW, {"steps": [STEP, WAITS]}),
    (FLOW, {"type": "dag", "steps": [STEP, WAITS]}),
    (FLOW, {"workflow_type": "dag", "steps": [{"workflow_type": "group", "steps": [STEP]}]}),
]

REFUSED: list[tuple[tuple[str, str, str], Any]] = [
    (CONFIG, {"visibility_timeout": {}}),
    (CONFIG, {"default_timeout": ""}),
    (CONFIG, {"default_timeout_ms": False}),
    (CONFIG, {"retention": {"completed": "never"}}),
    (CONFIG, {"backpressure": {"max_depth": 1}, "max_size": "many"}),
    (CONFIG, {"default_retry": {"max_attempts": -1}}),
    (LIMITS, {"rate": {"limit": 1, "period": "soon"}}),
    (LIMITS, {"rate": 1, "period": 31_622_401}),
    (LIMITS, {"concurrency": {}}),
    (KEY, {"expires_at": "PT1H"}),
    (PURGE, {"older_than": "P1D"}),
    (PURGE, {"confirm": True, "older_than": False}),
    (PURGE, {"confirm": True, "older_than": "+PT1H"}),
    (CANCEL, {}),
    (CANCEL, {"confirm": True}),
    (CANCEL, {"confirm": True, "queue": None}),
    (CANCEL, {"queue": "q", "confirm": False}),
    (CANCEL, {"queue": "q", "atomicity": "atomic"}),
    (CANCEL, {"filter": {}}),
    (CANCEL, {"older_than": False}),
    (CANCEL, {"older_than": "soon"}),
    (CANCEL, {"filter": {"queue": None}, "confirm": None}),
    (CANCEL, {"filter": {"queue": "q"}, "type": "t", "confirm": True}),
    (CANCEL, {"filter": {}, "confirm": True, "atomicity": "atomic"}),
    (CANCEL, {"job_ids": []}),
    (CANCEL, {"job_ids": ["1"], "confirm": False}),
    (CANCEL, {"job_ids": ["1"], "queue": "q"}),
    (CANCEL, {"job_ids": ["1"], "filter": {}, "confirm": True}),
    (CANCEL, {"job_ids": ["1"], "idempotency_key": "ü"}),
    (CANCEL_ALL, {"queue": "q"}),
    (CANCEL_ALL, {"filter": {"queue": "q"}}),
    (DELETE, {"confirm": True}),
    (DELETE, {"queue": "q"}),
    (DELETE, {"filter": {"queue": "q"}, "confirm": False}),
    (DEAD, {}),
    (DEAD, {"confirm": None, "queue": "q"}),
    (JOB, limited({})),
    (JOB, limited({"concurrency": {"limit": None}})),
    (FLOW, {"type": "chain", "steps": [STEP], "jobs": [STEP]}),
    (FLOW, {"steps": [STEP], "jobs": [STEP]}),
    (FLOW, {"workflow_type": "batch", "jobs": [STEP]}),
    (FLOW, {"workflow_type": "ring", "jobs": [STEP]}),
    (FLOW, {"type": "group", "steps": [STEP], "callbacks": DONE}),
]


async def answered(client: httpx.AsyncClient, call: tuple[str, str, str], body: object) -> int:
    """The status of a call."""
    return (await client.request(call[0], call[1], json=body)).status_code


@pytest.mark.parametrize(("call", "body"), TAKEN)
async def test_what_the_server_takes_is_in_the_contract(
    client: httpx.AsyncClient, call: tuple[str, str, str], body: object
) -> None:
    REQUESTS.validate(f"#/components/schemas/{call[2]}", body)
    assert await answered(client, call, body) < 300


@pytest.mark.parametrize(
    "more",
    [{}, {"confirm": True}, {"confirm": None, "filter": None, "queue": None, "atomicity": None}],
)
async def test_jobs_are_meant_by_their_ids(client: httpx.AsyncClient, more: dict[str, Any]) -> None:
    body = {"job_ids": ["1"], **more}
    REQUESTS.validate(f"#/components/schemas/{CANCEL[2]}", body)
    # There is no such job, which is told in an item.
    answer = await client.request(CANCEL[0], CANCEL[1], json=body)
    assert (answer.status_code, answer.json()["failed"]) == (422, 1)


@on_one_store
@pytest.mark.parametrize(("call", "body"), REFUSED)
async def test_what_the_server_refuses_is_not_in_the_contract(
    client: httpx.AsyncClient, call: tuple[str, str, str], body: object
) -> None:
    with pytest.raises(Deviation):
        REQUESTS.validate(f"#/components/schemas/{call[2]}", body)
    assert await answered(client, call, body) == 400
