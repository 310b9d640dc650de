"""Steps for tests of the HTTP API, and checks of refusals."""

from collections.abc import Sequence
from typing import Any, Final

import httpx

V1: Final = "/ojs/v1"
JOBS: Final = f"{V1}/jobs"
WORKERS: Final = f"{V1}/workers"
BEAT: Final = f"{WORKERS}/heartbeat"

Json = dict[str, Any]

# The members with which a worker may describe itself.
PROFILE: Final[Json] = {
    "hostname": "node-7",
    "pid": 4711,
    "queues": ["critical", "email"],
    "concurrency": 10,
    "labels": ["region:us-east-1", "canary"],
    "job_types": ["email.send"],
    "version": "2.1.0",
    "started_at": "2030-01-31T08:59:00Z",
    "metadata": {"zone": "b", "nul": "\0", "deep": [{}]},
}


def job_id(number: int) -> str:
    """A UUIDv7 that a client might choose."""
    return f"01a1f0c0-0000-7000-8000-{number:012x}"


def body(response: httpx.Response) -> Json:
    """The JSON object of an answer."""
    decoded: Json = response.json()
    return decoded


def error_of(response: httpx.Response, status: int, code: str) -> Json:
    """The error object of a refusal, which must have this status and code."""
    assert response.status_code == status, response.text
    error: Json = body(response)["error"]
    assert error["code"] == code
    assert error["request_id"] == response.headers["x-request-id"]
    return error


def refused(response: httpx.Response, status: int, code: str, field: str) -> Json:
    """The error object of a refusal that names the field, in its message and in its details."""
    error = error_of(response, status, code)
    assert error["details"]["field"] == field
    assert f"`{field}`" in error["message"]
    return error


async def enqueue(client: httpx.AsyncClient, **options: Any) -> Json:
    """A stored job, of type `test.job` without arguments unless said otherwise."""
    request = {
        name: options.pop(name) for name in ("type", "args", "id", "meta") if name in options
    }
    response = await client.post(
        JOBS, json={"type": "test.job", "args": [], **request, "options": options}
    )
    assert response.status_code == 201, response.text
    job: Json = body(response)["job"]
    return job


async def fetch(
    client: httpx.AsyncClient, queues: Sequence[str] = ("default",), **request: Any
) -> list[Json]:
    """The jobs that a FETCH hands out."""
    response = await client.post(f"{WORKERS}/fetch", json={"queues": list(queues), **request})
    assert response.status_code == 200, response.text
    jobs: list[Json] = body(response)["jobs"]
    return jobs


async def active_job(
    client: httpx.AsyncClient, worker_id: str = "worker-1", **options: Any
) -> Json:
    """A job in a worker's hands."""
    job = await enqueue(client, **options)
    fetched = await fetch(client, (job["queue"],), worker_id=worker_id)
    assert [one["id"] for one in fetched] == [job["id"]]
    return fetched[0]


async def discarded_job(client: httpx.AsyncClient, **options: Any) -> Json:
    """A job that its worker gave up."""
    job = await active_job(client, **options)
    response = await client.post(
        f"{WORKERS}/nack",
        json={"job_id": job["id"], "error": {"message": "no such address", "retryable": False}},
    )
    assert body(response)["state"] == "discarded"
    return job


async def read(client: httpx.AsyncClient, job_id: str) -> Json:
    """A job as it is now."""
    response = await client.get(f"{JOBS}/{job_id}")
    assert response.status_code == 200, response.text
    job: Json = body(response)["job"]
    return job


async def stored_jobs(client: httpx.AsyncClient) -> int:
    """Return the number of jobs in all queues and states."""
    queues = body(await client.get(f"{V1}/queues"))["queues"]
    return sum(sum(queue["counts"].values()) for queue in queues)


async def beat(client: httpx.AsyncClient, worker_id: str = "worker-1", **more: Any) -> Json:
    """Send a BEAT and return its answer."""
    response = await client.post(BEAT, json={"worker_id": worker_id, **more})
    assert response.status_code == 200, response.text
    return body(response)


async def worker(client: httpx.AsyncClient, worker_id: str = "worker-1") -> Json:
    """A worker as it is now."""
    response = await client.get(f"{WORKERS}/{worker_id}")
    assert response.status_code == 200, response.text
    shown: Json = body(response)["worker"]
    return shown
