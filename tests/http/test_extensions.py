"""Extensions that a server has no part in but to keep what they send, and small ones beside them.

What a producer sends is the same at every place where the job is shown, through its whole life.
"""

from collections.abc import Callable

import httpx
import pytest

from tests.http.steps import JOBS, V1, WORKERS, Json, beat, body, enqueue, error_of, fetch, read

QUEUE = "ext"
FEDERATION = {
    "ojs.federation.federation_id": "01912e4a-bf80-7123-ce56-ef1234567890",
    "ojs.federation.region": "us-east-1",
    "ojs.federation.routing_latency_ms": 12,
    "ojs.federation.region_load": 0.65,
    "ojs.federation.weights": {"us-east-1": 70, "eu-west-1": 30},
}
SEALED = {
    "ojs_encoded": True,
    "ojs.codec.encodings": ["zstd", "binary/encrypted-chacha"],
    "ojs.codec.key_id": "key-2",
    "ojs.codec.nonce": "bm9uY2U=",
    "ojs.codec.aad": "dGVuYW50",
    "ojs.codec.key_version": 3,
    "custom_field": "kept",
}
EXTENSIONS: dict[str, Json] = {
    "federation": {"meta": FEDERATION},
    "machine learning": {
        "ext_ml_accelerator": "gpu",
        "ext_ml_gpu_count": 2,
        "ext_ml_node_affinity": {"required": [{"key": "zone", "values": ["a", "b"]}]},
        "ext_ml_model_checksum": "sha256:a1b2",
        "ext_ml_preemptible": False,
        "ext_mlx_eval": {"metric": "f1", "threshold": 0.9},
    },
    "agents": {
        "ext_agent_model": "gpt-4",
        "ext_agent_temperature": 0.7,
        "ext_agent_delegation_depth": 0,
        "ext_agent_fallback_models": ["a", "b"],
        "ext_agent_tools": [{"name": "search", "parameters": {"type": "object"}}],
        "ext_agent_output_schema": {"type": "object", "required": ["answer"]},
    },
    "encryption": {"args": ["ZW5jcnlwdGVk"], "meta": SEALED},
    "serverless": {
        "meta": {
            "serverless": {"memory_mb": 256, "timeout_s": 15, "function_arn": "arn:aws:lambda:x"}
        }
    },
    "runtime": {"meta": {"ojs.ext_runtime": {"name": "wasi:ojs", "min": "0.1.0", "tags": ["gpu"]}}},
    "versions": {"version": 2},
}


def shown(job: Json, sent: Json) -> Json:
    """Return the members of a job that were sent."""
    return {name: job.get(name) for name in sent}


@pytest.mark.parametrize("sent", EXTENSIONS.values(), ids=EXTENSIONS)
async def test_what_an_extension_sends_stays_with_the_job(
    client: httpx.AsyncClient, sent: Json
) -> None:
    request = {"type": "ext.kept", "args": [1], "queue": QUEUE, **sent}
    answer = body(await client.post(JOBS, json=request))
    job_id = answer["job"]["id"]
    assert shown(answer["job"], sent) == sent
    assert shown(await read(client, job_id), sent) == sent
    (fetched,) = await fetch(client, (QUEUE,), worker_id="w")
    assert shown(fetched, sent) == sent
    failed = await client.post(
        f"{JOBS}/{job_id}/nack", json={"worker_id": "w", "error": {"message": "again"}}
    )
    assert body(failed)["job"]["state"] == "retryable"
    assert shown(await read(client, job_id), sent) == sent


@pytest.mark.parametrize("sent", EXTENSIONS.values(), ids=EXTENSIONS)
async def test_each_job_of_a_batch_keeps_its_own(client: httpx.AsyncClient, sent: Json) -> None:
    plain = {"type": "ext.kept", "args": [], "queue": QUEUE}
    answer = await client.post(f"{JOBS}/batch", json={"jobs": [{**plain, **sent}, plain]})
    first, second = body(answer)["jobs"]
    assert shown(first, sent) == sent
    # A job without the extension gains nothing from it.
    assert second["meta"] == {}
    assert not [name for name in second if name.startswith("ext_") or name == "version"]
    taken = await fetch(client, (QUEUE,), count=2)
    assert [shown(job, sent) == sent for job in taken] == [True, False]


async def test_a_function_without_a_worker_id_works_and_is_answered_in_both_shapes(
    client: httpx.AsyncClient,
) -> None:
    job = await enqueue(client, queue=QUEUE, **EXTENSIONS["serverless"])
    fetched = await client.post(f"{JOBS}/fetch", json={"queues": [QUEUE]})
    assert [one["id"] for one in body(fetched)["jobs"]] == [job["id"]]
    done = await client.post(f"{WORKERS}/ack", json={"job_id": job["id"], "result": {"ok": True}})
    assert done.status_code == 200
    assert body(done)["state"] == body(done)["job"]["state"] == "completed"


async def test_empty_arguments_are_refused_where_the_producer_asks_for_it(
    client: httpx.AsyncClient,
) -> None:
    job: Json = {"type": "ext.checked", "args": [], "meta": {"ojs_validate": True}}
    refusal = error_of(await client.post(JOBS, json=job), 422, "validation_error")
    assert refusal["details"]["field"] == "args"
    for accepted in ({**job, "args": [1]}, {**job, "meta": {"ojs_validate": False}}):
        assert (await client.post(JOBS, json=accepted)).status_code == 201


async def test_a_draining_worker_is_heard_and_given_nothing(client: httpx.AsyncClient) -> None:
    await enqueue(client, queue=QUEUE)
    told = await beat(client, "going", state="drain", active_jobs=2)
    assert told["acknowledged"] is True
    health = await client.get(f"{WORKERS}/going/health")
    assert health.status_code == 503
    assert body(health)["state"] == "draining"
    assert await fetch(client, (QUEUE,), worker_id="going") == []


async def test_the_manifest_names_each_extension(client: httpx.AsyncClient) -> None:
    manifest = body(await client.get("/ojs/manifest"))
    official = {"encryption", "graceful-shutdown", "schema-registry"}
    experimental = {
        "ai-agents",
        "federation",
        "job-versioning",
        "ml-resources",
        "runtime",
        "serverless",
    }
    named = {f"urn:ojs:ext:{name}" for name in official}
    named |= {f"urn:ojs:ext:experimental:{name}" for name in experimental}
    assert named <= set(manifest["extensions"])
    assert named <= manifest["extensions_detail"].keys()
    assert manifest["capabilities"]["job_versioning"] is True
    assert manifest["capabilities"]["schema_validation"] is True
    assert (await client.get(f"{V1}/schemas")).status_code == 200


@pytest.mark.parametrize(
    ("path", "brought"),
    [
        (JOBS, lambda job: job),
        (f"{JOBS}/batch", lambda job: {"jobs": [job]}),
        (f"{JOBS}/bulk", lambda job: {"jobs": [job]}),
    ],
    ids=["one", "batch", "bulk"],
)
async def test_a_job_says_which_request_brought_it(
    client: httpx.AsyncClient, path: str, brought: Callable[[Json], Json]
) -> None:
    async def meta(given: Json, **headers: str) -> object:
        sent = brought({"type": "ext.asked", "args": [], "options": {"queue": QUEUE}, **given})
        answer = await client.post(path, json=sent, headers=headers)
        assert answer.status_code == 201
        return (await fetch(client, (QUEUE,)))[0]["meta"]

    asked = {"X-Request-Id": "asked-1"}
    assert await meta({}, **asked) == {"request_id": "asked-1"}
    assert await meta({"meta": {"a": 1}}, **asked) == {"request_id": "asked-1", "a": 1}
    assert await meta({"meta": {"request_id": 7}}, **asked) == {"request_id": 7}
    assert await meta({}) == {}
    # An invalid request id is not given to the job either.
    assert await meta({}, **{"X-Request-Id": "x" * 129}) == {}


async def test_a_request_that_is_repeated_under_another_id_is_the_same(
    client: httpx.AsyncClient,
) -> None:
    job: Json = {"type": "ext.asked", "args": []}
    for key, value in (
        ({"Idempotency-Key": "k"}, {}),
        ({}, {"id": "01912e4a-bf80-7123-8e56-ef1234567890"}),
    ):
        asked = {**key, "X-Request-Id": "one"}
        first = await client.post(JOBS, json={**job, **value}, headers=asked)
        assert first.status_code == 201
        again = await client.post(
            JOBS, json={**job, **value}, headers={**asked, "X-Request-Id": "two"}
        )
        assert again.status_code == 200
        assert body(again)["job"]["meta"] == {"request_id": "one"}


async def test_the_steps_of_an_enqueue_are_listed(client: httpx.AsyncClient) -> None:
    listed = body(await client.get(f"{V1}/middleware"))
    steps = {step["name"]: step for step in listed["items"]}
    assert [step["order"] for step in listed["items"]] == list(range(1, len(steps) + 1))
    on = {name for name, step in steps.items() if step["enabled"]}
    assert steps.keys() - on == {"authentication", "tracing"}
    second = body(await client.get(f"{V1}/middleware", params={"page": 2, "per_page": 2}))
    assert [step["order"] for step in second["items"]] == [3, 4]
    assert second["pagination"]["total"] == len(steps)
    assert (second["enqueue"], second["execution"]) == (second["items"], [])
