"""Tenants over HTTP: what each sees, what is refused to all of them, limits, and shares."""

from typing import Any

import httpx
import pytest

from ojs_server.domain.jobs.job import STATES
from ojs_server.http.access.keys import parse_keys
from tests.http.conftest import Serve, connect
from tests.users_stores import on_one_store

V1 = "/ojs/v1"
ADMIN = f"{V1}/admin/tenants"
HEADER = "X-OJS-Tenant"


async def put(client: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    response = await client.post(f"{V1}/jobs", json={"type": "t", "args": [], "queue": "q", **more})
    assert response.status_code == 201, response.text
    job: dict[str, Any] = response.json()["job"]
    return job


async def fetch(client: httpx.AsyncClient, **more: Any) -> list[dict[str, Any]]:
    body = {"queues": ["q"], "count": 9, "worker_id": "w", **more}
    response = await client.post(f"{V1}/workers/fetch", json=body)
    assert response.status_code == 200, response.text
    jobs: list[dict[str, Any]] = response.json()["jobs"]
    return jobs


def ids(jobs: list[dict[str, Any]]) -> list[str]:
    return [job["id"] for job in jobs]


async def test_the_header_is_the_jobs_tenant(
    client: httpx.AsyncClient, acme: httpx.AsyncClient
) -> None:
    job = await put(acme, meta={"a": 1})
    assert job["meta"] == {"a": 1, "tenant_id": "acme"}
    assert (await put(client, meta={"tenant_id": "acme"}))["meta"] == {"tenant_id": "acme"}
    assert (await put(client))["meta"] == {}
    batch = {"jobs": [{"type": "t", "args": []}, {"type": "t", "args": []}]}
    for path, name in (("batch", "jobs"), ("bulk", "items")):
        made = (await acme.post(f"{V1}/jobs/{path}", json=batch)).json()[name]
        assert [one.get("job", one)["meta"]["tenant_id"] for one in made] == ["acme", "acme"]


@pytest.mark.parametrize(
    ("header", "meta", "status"),
    [
        ("acme", {"tenant_id": "beta"}, 400),
        ("a b", {}, 400),
        ("_default", {}, 400),
        ("", {}, 400),
        (None, {"tenant_id": "a/b"}, 400),
        (None, {"tenant_id": 7}, 400),
    ],
)
async def test_a_bad_tenant_is_refused(
    client: httpx.AsyncClient, header: str | None, meta: dict[str, Any], status: int
) -> None:
    headers = {} if header is None else {HEADER: header}
    body = {"type": "t", "args": [], "meta": meta}
    response = await client.post(f"{V1}/jobs", json=body, headers=headers)
    assert response.status_code == status, response.text
    assert (await client.get(f"{V1}/queues")).json()["queues"] == []


async def test_tenants_are_listed_with_what_they_have(
    client: httpx.AsyncClient, acme: httpx.AsyncClient
) -> None:
    await put(acme)
    await put(acme, queue="r")
    await put(client, queue="r")
    await fetch(acme, worker_id="w1", count=1)
    await acme.post(f"{V1}/workers/register", json={"worker_id": "w2"})
    await acme.post(f"{V1}/workers/register", json={"worker_id": "left"})
    await acme.post(f"{V1}/workers/deregister", json={"worker_id": "left"})
    await client.post(f"{V1}/workers/register", json={"worker_id": "w1"})
    await client.put(f"{ADMIN}/idle/limits", json={})
    listed = (await client.get(ADMIN)).json()["items"]
    stats = {tenant["id"]: tenant["stats"] for tenant in listed}
    none = dict.fromkeys(STATES, 0)
    assert stats["acme"] == {
        "queues": 2,
        "jobs": none | {"available": 1, "active": 1},
        "workers": 2,
    }
    assert stats["_default"] == {"queues": 1, "jobs": none | {"available": 1}, "workers": 1}
    assert stats["idle"] == {"queues": 0, "jobs": none, "workers": 0}
    assert (await acme.get(f"{ADMIN}/acme")).json()["stats"] == stats["acme"]


async def test_each_tenant_is_handed_its_own_jobs(
    client: httpx.AsyncClient, acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    assert await fetch(acme) == []
    plain = await put(client)
    mine = [await put(acme, priority=n) for n in (1, 5)]
    other = await put(beta)
    assert ids(await fetch(acme)) == [mine[1]["id"], mine[0]["id"]]
    assert await fetch(acme) == []
    assert ids(await fetch(beta, job_types=["t"])) == [other["id"]]
    assert ids(await fetch(client)) == [plain["id"]]


async def test_a_strangers_job_is_not_there(
    acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    job = await put(acme)
    unknown = "01a1f0c0-0000-7000-8000-000000000009"
    at = f"{V1}/jobs/{job['id']}"
    calls: list[tuple[str, str, dict[str, Any] | None]] = [
        ("GET", at, None),
        ("DELETE", at, None),
        ("POST", f"{at}/activate", {}),
        ("GET", f"{at}/result", None),
        ("GET", f"{at}/retries", None),
        ("GET", f"{at}/history", None),
        ("GET", f"{at}/progress", None),
        ("PUT", f"{at}/progress", {"progress": 0.5}),
        ("PUT", f"{at}/checkpoint", {"state": {}}),
        ("GET", f"{at}/checkpoint", None),
        ("DELETE", f"{at}/checkpoint", None),
        ("GET", f"{at}/events", None),
        ("GET", f"{V1}/events/stream?channel=job:{job['id']}", None),
        ("POST", f"{V1}/workers/ack", {"job_id": job["id"]}),
        ("POST", f"{V1}/workers/nack", {"job_id": job["id"], "error": {}}),
        ("GET", f"{V1}/admin/jobs/{job['id']}", None),
        ("PATCH", f"{V1}/admin/jobs/{job['id']}", {"priority": 1}),
        ("POST", f"{V1}/admin/jobs/{job['id']}/retry", {}),
        ("GET", f"{V1}/dead-letter/{job['id']}", None),
        ("POST", f"{V1}/dead-letter/{job['id']}/retry", {}),
        ("DELETE", f"{V1}/dead-letter/{job['id']}", None),
        ("GET", f"{V1}/queues/q", None),
        ("GET", f"{V1}/queues/q/stats", None),
        ("GET", f"{V1}/queues/q/events", None),
        ("GET", f"{ADMIN}/acme/stats", None),
    ]
    for method, path, body in calls:
        answers = []
        for name in (job["id"], unknown):
            given = {k: name if v == job["id"] else v for k, v in (body or {}).items()}
            response = await beta.request(
                method,
                path.replace(job["id"], name),
                json=None if body is None else given,
                headers={"X-Request-Id": "r"},
            )
            answers.append((response.status_code, response.text.replace(name, "ID")))
        # To a stranger the job is, to the letter, like one that does not exist.
        assert answers[0] == answers[1], path
        assert answers[0][0] == 404, path
    assert (await acme.get(at)).json()["job"]["state"] == "available"


async def test_lists_and_counts_hold_ones_own(
    client: httpx.AsyncClient, acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    mine = await put(acme)
    dead = await put(acme)
    (held,) = [job for job in await fetch(acme) if job["id"] == dead["id"]]
    error = {"type": "E", "retryable": False}
    await acme.post(
        f"{V1}/workers/nack", json={"job_id": held["id"], "worker_id": "w", "error": error}
    )
    await put(beta)
    await put(beta, queue="other")
    assert {job["id"] for job in (await acme.get(f"{V1}/jobs")).json()["jobs"]} == {
        mine["id"],
        dead["id"],
    }
    assert (await acme.get(f"{V1}/admin/jobs")).json()["pagination"]["total"] == 2
    assert ids((await acme.get(f"{V1}/dead-letter")).json()["jobs"]) == [dead["id"]]
    assert (await beta.get(f"{V1}/dead-letter")).json()["pagination"]["total"] == 0
    (queue,) = (await acme.get(f"{V1}/queues")).json()["queues"]
    assert (queue["name"], queue["counts"]["active"], queue["counts"]["available"]) == ("q", 1, 0)
    assert (await acme.get(f"{V1}/queues/q/stats")).json()["stats"]["depth"] == 0
    assert [q["name"] for q in (await client.get(f"{V1}/queues")).json()["queues"]] in (
        ["q", "other"],
        ["other", "q"],
    )
    workers = (await acme.get(f"{V1}/workers")).json()["workers"]
    assert [worker["id"] for worker in workers] == ["w"]
    assert (await beta.get(f"{V1}/workers")).json()["workers"] == []
    assert (await beta.get(f"{V1}/workers/w")).status_code == 404
    gone = await beta.post(
        f"{V1}/jobs/bulk/cancel", json={"job_ids": [mine["id"]], "confirm": True}
    )
    assert gone.json()["items"][0]["error"]["code"] == "not_found"
    body = {"filter": {"queue": "q"}, "confirm": True}
    gone = await beta.post(f"{V1}/jobs/bulk/cancel", json=body)
    assert gone.json()["matched"] == 1
    assert (await acme.get(f"{V1}/jobs/{mine['id']}")).json()["job"]["state"] == "active"


async def test_a_worker_of_the_same_name_is_another_one(
    acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    job = await put(acme)
    assert (await fetch(acme))[0]["worker_id"] == "w"
    beat = {"worker_id": "w", "active_job_ids": [job["id"]]}
    told = (await beta.post(f"{V1}/workers/heartbeat", json=beat)).json()
    assert (told["worker_id"], told["jobs_lost"], told["jobs_extended"]) == ("w", [job["id"]], [])
    assert (await beta.post(f"{V1}/workers/deregister", json={"worker_id": "w"})).is_success
    settle = {"worker_id": "w", "results": [{"job_id": job["id"], "attempt": 1, "outcome": "ack"}]}
    (result,) = (await beta.post(f"{V1}/workers/settle", json=settle)).json()["results"]
    assert result["error"]["code"] == "not_found"
    told = (await acme.post(f"{V1}/workers/heartbeat", json=beat)).json()
    assert told["jobs_lost"] == []
    (result,) = (await acme.post(f"{V1}/workers/settle", json=settle)).json()["results"]
    assert result["state"] == "completed"


async def test_keys_ids_and_uniqueness_do_not_meet(
    acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    body = {"type": "t", "args": [], "unique": {"keys": ["type"]}}
    made = []
    for tenant in (acme, beta):
        first = await tenant.post(f"{V1}/jobs", json=body, headers={"Idempotency-Key": "k"})
        again = await tenant.post(f"{V1}/jobs", json=body, headers={"Idempotency-Key": "k"})
        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json()["id"] == again.json()["id"]
        assert (await tenant.post(f"{V1}/jobs", json=body)).status_code == 409
        made.append(first.json()["id"])
    assert made[0] != made[1]
    named = {"type": "t", "args": [], "id": "01a1f0c0-0000-7000-8000-000000000001"}
    assert (await acme.post(f"{V1}/jobs", json=named)).status_code == 201
    assert (await acme.post(f"{V1}/jobs", json=named)).status_code == 200
    # Under another tenant the same request is a conflict, whose answer shows nothing of the job.
    refused = await beta.post(f"{V1}/jobs", json=named)
    assert refused.status_code == 409
    assert "args" not in refused.text


async def test_events_are_told_to_their_tenant(
    client: httpx.AsyncClient, acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    mine, other = await put(acme), await put(beta)
    found = (await acme.get(f"{V1}/events")).json()["events"]
    assert [event["subject"] for event in found] == [mine["id"]]
    assert found[0]["data"]["tenant_id"] == "acme"
    assert {event["subject"] for event in (await client.get(f"{V1}/events")).json()["events"]} >= {
        mine["id"],
        other["id"],
    }


async def test_rate_keys_are_a_tenants_own_unless_they_are_global(
    client: httpx.AsyncClient, acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    own = {"key": "k", "concurrency": 1}
    for tenant in (acme, beta):
        await put(tenant, rate_limit=own)
        await put(tenant, rate_limit=own)
        assert len(await fetch(tenant)) == 1
    shown = (await acme.get(f"{V1}/rate-limits/k")).json()
    assert (shown["key"], shown["concurrency"]["active"], shown["waiting_count"]) == ("k", 1, 1)
    assert [item["key"] for item in (await acme.get(f"{V1}/rate-limits")).json()["items"]] == ["k"]
    assert (await client.get(f"{V1}/rate-limits/k")).status_code == 404
    common = {"key": "g", "concurrency": 1, "scope": "global"}
    await put(acme, rate_limit=common, queue="c")
    await put(beta, rate_limit=common, queue="c")
    assert len(await fetch(acme, queues=["c"])) == 1
    assert await fetch(beta, queues=["c"]) == []
    assert (await acme.get(f"{V1}/rate-limits/g")).status_code == 404
    assert (await client.get(f"{V1}/rate-limits/g")).json()["concurrency"]["active"] == 1


@on_one_store
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "queues/q/pause"),
        ("DELETE", "queues/q"),
        ("PUT", "queues/q/config"),
        ("GET", "admin/stats"),
        ("GET", "admin/tenants"),
        ("PUT", "admin/tenants/acme/limits"),
        ("GET", "schemas"),
        ("PUT", "schemas/t/2"),
        ("DELETE", "schemas/t/1"),
        ("POST", "admin/reset"),
    ],
)
async def test_calls_about_everybody_are_refused(
    acme: httpx.AsyncClient, method: str, path: str
) -> None:
    response = await acme.request(method, f"{V1}/{path}")
    assert response.status_code == 403
    assert response.json()["error"]["code"] == "tenant_access_denied"


async def test_a_tenant_reads_what_its_jobs_are_held_to(
    client: httpx.AsyncClient, acme: httpx.AsyncClient
) -> None:
    schema = {"type": "array", "maxItems": 0}
    put_schema = await client.put(f"{V1}/schemas/t/1", json={"schema": schema, "mode": "strict"})
    for path in ("t", "t/1"):
        assert (await acme.get(f"{V1}/schemas/{path}")).json() == put_schema.json()
    assert len((await acme.get(f"{V1}/schemas/t/versions")).json()["versions"]) == 1
    assert (await acme.get(f"{V1}/schemas/u")).status_code == 404
    assert (await acme.post(f"{V1}/jobs", json={"type": "t", "args": [1]})).status_code == 422


async def test_a_key_may_be_bound_to_a_tenant(serve: Serve) -> None:
    keys = parse_keys("producer@acme:producer-of-acme-1,worker:worker-of-all-00001", {})
    async with serve(keys=keys) as server:
        bearer = {"Authorization": "Bearer producer-of-acme-1"}
        async with connect(server, **bearer) as bound:
            assert (await put(bound))["meta"] == {"tenant_id": "acme"}
            body = {"type": "t", "args": []}
            same = await bound.post(f"{V1}/jobs", json=body, headers={HEADER: "acme"})
            assert same.status_code == 201
            other = await bound.post(f"{V1}/jobs", json=body, headers={HEADER: "beta"})
            assert other.status_code == 403
            assert other.json()["error"]["code"] == "tenant_access_denied"
        async with connect(server, Authorization="Bearer worker-of-all-00001") as worker:
            assert len(await fetch(worker)) == 1


async def test_a_tenant_is_configured_shown_and_forgotten(
    client: httpx.AsyncClient, acme: httpx.AsyncClient
) -> None:
    assert (await client.get(f"{ADMIN}/acme")).status_code == 404
    wanted = {"max_concurrency": 1, "max_enqueue_rate": {"limit": 5, "period": "minute"}}
    made = await client.put(f"{ADMIN}/acme", json={"limits": wanted})
    assert made.status_code == 201
    assert made.json()["limits"]["max_enqueue_rate"] == {"limit": 5, "period": "PT60S"}
    assert (await client.put(f"{ADMIN}/acme/limits", json={})).status_code == 200
    await put(acme)
    (shown,) = (await client.get(ADMIN)).json()["items"]
    assert (shown["tenant_id"], shown["configured"]) == ("acme", True)
    assert (await acme.get(f"{ADMIN}/acme")).json() == shown
    assert (await client.delete(f"{ADMIN}/acme")).json() == {"deleted": True, "tenant_id": "acme"}
    assert (await client.delete(f"{ADMIN}/acme")).status_code == 404
    assert (await client.get(f"{ADMIN}/acme")).json()["configured"] is False
    listed = (await client.get(f"{ADMIN}/acme/jobs?state=available")).json()
    assert listed["pagination"]["total"] == 1
    assert [e["type"] for e in (await client.get(f"{V1}/events")).json()["events"]] == [
        "tenant.created",
        "job.enqueued",
    ]


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"max_concurency": 1}, "limits.max_concurency"),
        ({"max_concurrency": -1}, "limits.max_concurrency"),
        ({"fairness_weight": 0}, "limits.fairness_weight"),
        ({"priority_boost": 101}, "limits.priority_boost"),
        ({"max_enqueue_rate": {"period": "minute"}}, "limits.max_enqueue_rate.limit"),
        ([], "limits"),
        (3, "limits"),
    ],
)
async def test_bad_limits_are_named(client: httpx.AsyncClient, limits: Any, field: str) -> None:
    response = await client.put(f"{ADMIN}/acme", json={"limits": limits})
    assert response.status_code in (400, 422), response.text
    assert response.json()["error"]["details"]["field"] == field
    assert (await client.get(ADMIN)).json()["items"] == []


async def test_a_tenant_without_jobs_has_no_more_than_all_turns(
    client: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    await client.put(f"{ADMIN}/acme/limits", json={"fairness_weight": 2})
    await put(beta)
    shown = (await client.get(f"{ADMIN}/acme/stats")).json()
    assert shown["fairness"] == {"weight": 2, "effective_share": 0.667, "actual_share": 0.0}


async def test_statistics_are_those_of_the_tenant(
    client: httpx.AsyncClient, acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    empty = (await client.get(f"{ADMIN}/acme/stats")).json()
    assert (empty["tenant_id"], empty["total_jobs"]) == ("acme", 0)
    await client.put(f"{ADMIN}/acme/limits", json={"max_concurrency": 5, "fairness_weight": 3})
    await put(acme)
    await put(beta)
    (job,) = await fetch(acme)
    await put(acme, delay_until="+PT60S")
    shown = (await acme.get(f"{ADMIN}/acme/stats")).json()
    assert shown["total_jobs"] == 2
    assert shown["jobs"] == {
        "available": 0,
        "active": 1,
        "scheduled": 1,
        "completed_24h": 0,
        "failed_24h": 0,
    }
    assert shown["limits"] == {"max_concurrency": {"limit": 5, "current": 1}}
    assert shown["fairness"] == {"weight": 3, "effective_share": 0.75, "actual_share": 1.0}
    await acme.post(f"{V1}/workers/ack", json={"job_id": job["id"], "worker_id": "w"})
    shown = (await acme.get(f"{ADMIN}/acme/stats")).json()
    assert shown["jobs"]["completed_24h"] == 1
    assert shown["throughput"]["processed_per_minute"] == 1


@pytest.mark.parametrize(
    ("limits", "last"),
    [
        ({"max_queue_depth": 2}, {}),
        ({"max_scheduled": 2}, {"delay_until": "+PT60S"}),
        ({"max_enqueue_rate": {"limit": 2, "period": "hour"}}, {}),
    ],
)
async def test_what_a_tenant_may_enqueue_is_limited(
    client: httpx.AsyncClient,
    acme: httpx.AsyncClient,
    beta: httpx.AsyncClient,
    limits: dict[str, Any],
    last: dict[str, Any],
) -> None:
    (limit,) = limits
    await client.put(f"{ADMIN}/acme/limits", json=limits)
    body = {"type": "t", "args": [], "queue": "q", **last}
    for _ in range(2):
        await put(acme, **last)
    for path, sent in (("jobs", body), ("jobs/batch", {"jobs": [body]})):
        refused = await acme.post(f"{V1}/{path}", json=sent)
        assert refused.status_code == 429, refused.text
        error = refused.json()["error"]
        assert error["code"] == "TENANT_LIMIT_EXCEEDED"
        assert (error["tenant_id"], error["limit"]) == ("acme", limit)
        assert (error["current"], error["maximum"]) == (2, 2)
        assert int(refused.headers["retry-after"]) >= 1
    await put(beta, **last)
    await put(client, **last)
    told = (await acme.get(f"{V1}/events?types=tenant.limit_exceeded")).json()["events"]
    assert [event["data"]["limit"] for event in told] == [limit, limit]


async def test_no_more_jobs_of_a_tenant_run_than_it_may(
    client: httpx.AsyncClient, acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    await client.put(f"{ADMIN}/acme/limits", json={"max_concurrency": 1})
    for _ in range(2):
        await put(acme)
    other = await put(beta)
    taken = await fetch(client)
    assert sorted(job["meta"]["tenant_id"] for job in taken) == ["acme", "beta"]
    assert await fetch(acme) == []
    (mine,) = [job for job in taken if job["id"] != other["id"]]
    await client.post(f"{V1}/workers/ack", json={"job_id": mine["id"], "worker_id": "w"})
    assert len(await fetch(acme)) == 1


async def test_tenants_take_turns_by_their_weights(
    client: httpx.AsyncClient, acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    await client.put(f"{ADMIN}/beta/limits", json={"fairness_weight": 2})
    for _ in range(6):
        await put(acme)
    for _ in range(6):
        await put(beta)
    urgent = await put(acme, priority=9)
    got = await fetch(client, count=7)
    assert got[0]["id"] == urgent["id"]
    named = [job["meta"]["tenant_id"] for job in got[1:]]
    assert (named.count("acme"), named.count("beta")) == (2, 4)
