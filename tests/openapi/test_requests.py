"""Server and contract take and refuse the same bodies, where a schema has many spellings."""

from typing import Any

import httpx
import pytest

from tests.http.contract import Contract, Deviation, document
from tests.http.steps import JOBS, V1

REQUESTS = Contract(document(), shut=False)
CONFIG = ("PUT", f"{V1}/queues/q/config", "QueueConfigRequest")
LIMITS = ("PUT", f"{V1}/queues/q/rate-limit", "Limits")
KEY = ("PUT", f"{V1}/rate-limits/k", "OverrideRequest")
PURGE = ("DELETE", f"{V1}/queues/q/jobs", "PurgeRequest")
FLOW = ("POST", f"{V1}/workflows", "WorkflowRequest")
JOB = ("POST", JOBS, "EnqueueRequest")

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


@pytest.mark.parametrize(("call", "body"), REFUSED)
async def test_what_the_server_refuses_is_not_in_the_contract(
    client: httpx.AsyncClient, call: tuple[str, str, str], body: object
) -> None:
    with pytest.raises(Deviation):
        REQUESTS.validate(f"#/components/schemas/{call[2]}", body)
    assert await answered(client, call, body) == 400
