"""Isolation of tenants in workflows, cron entries and webhooks."""

from typing import Any

import httpx

from ojs_server.app import Server
from ojs_server.ops.webhooks.deliveries import Spread, look

V1 = "/ojs/v1"
LIMITS = f"{V1}/admin/tenants/acme/limits"
STEP = {"type": "t", "args": [], "queue": "q"}
CHAIN = {"type": "chain", "name": "nightly", "steps": [STEP, STEP]}

Calls = list[tuple[str, str, dict[str, Any] | None]]


async def same_as_missing(
    stranger: httpx.AsyncClient, own: str, unknown: str, calls: Calls
) -> None:
    """Check that a stranger gets the same answer for what exists as for what does not."""
    for method, path, body in calls:
        answers = []
        for name in (own, unknown):
            response = await stranger.request(
                method, path.replace(own, name), json=body, headers={"X-Request-Id": "r"}
            )
            answers.append((response.status_code, response.text.replace(name, "NAME")))
        assert answers[0] == answers[1], path
        assert answers[0][0] == 404, path


async def made(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    response = await client.post(f"{V1}/{path}", json=body)
    assert response.status_code == 201, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def taken(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    body = {"queues": ["q"], "count": 9, "worker_id": "w"}
    jobs: list[dict[str, Any]] = (await client.post(f"{V1}/workers/fetch", json=body)).json()[
        "jobs"
    ]
    return jobs


async def test_a_workflow_is_its_tenants(
    client: httpx.AsyncClient, acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    flow = (await made(acme, "workflows", CHAIN))["workflow"]["id"]
    at = f"{V1}/workflows/{flow}"
    unknown = "01a1f0c0-0000-7000-8000-000000000009"
    calls: Calls = [("GET", at, None), ("GET", f"{at}/progress", None), ("DELETE", at, None)]
    await same_as_missing(beta, flow, unknown, calls)
    for one, total in ((client, 1), (acme, 1), (beta, 0)):
        listed = (await one.get(f"{V1}/workflows?name=nightly")).json()
        assert listed["pagination"]["total"] == len(listed["workflows"]) == total
    for step in range(2):
        assert await taken(beta) == []
        (job,) = await taken(acme)
        assert (job["meta"]["tenant_id"], job["workflow_id"]) == ("acme", flow), step
        await acme.post(f"{V1}/workers/ack", json={"job_id": job["id"], "worker_id": "w"})
    assert (await client.get(at)).json()["workflow"]["state"] == "completed"
    told = [
        one["type"] for one in (await acme.get(f"{V1}/events?types=workflow.*")).json()["events"]
    ]
    assert (told[0], told[-1]) == ("workflow.created", "workflow.completed")
    assert (await beta.get(f"{V1}/events")).json()["events"] == []
    other = (await made(beta, "workflows", CHAIN))["workflow"]["id"]
    assert (await beta.delete(f"{V1}/workflows/{other}")).json()["workflow"]["state"] == "cancelled"


async def test_a_workflow_counts_against_limits(
    client: httpx.AsyncClient, acme: httpx.AsyncClient
) -> None:
    await client.put(LIMITS, json={"max_queue_depth": 1})
    await made(acme, "workflows", CHAIN)
    full = await acme.post(f"{V1}/workflows", json=CHAIN)
    assert (full.status_code, full.json()["error"]["limit"]) == (429, "max_queue_depth")
    assert full.headers["retry-after"]


async def test_a_cron_entry_is_its_tenants(
    client: httpx.AsyncClient, acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    body = {"name": "daily", "cron": "0 3 * * *", "job_template": STEP}
    at = f"{V1}/cron/daily"
    mine = await made(acme, "cron", body)
    assert (mine["cron"]["name"], mine["cron"]["run_count"]) == ("daily", 0)
    calls: Calls = [
        ("GET", at, None),
        ("PATCH", at, {"enabled": False}),
        ("DELETE", at, None),
        ("POST", f"{at}/pause", {}),
        ("POST", f"{at}/resume", {}),
        ("POST", f"{at}/trigger", {}),
        ("GET", f"{at}/history", None),
    ]
    for stranger in (beta, client):
        await same_as_missing(stranger, "daily", "none", calls)
    # An entry of this name under another tenant is a different one.
    assert (await made(beta, "cron", body))["cron"]["name"] == "daily"
    assert (await beta.delete(at)).json()["name"] == "daily"
    for one, names in ((acme, ["daily"]), (beta, []), (client, ["acme/daily"])):
        assert [entry["id"] for entry in (await one.get(f"{V1}/cron")).json()["items"]] == names
    assert (await acme.patch(at, json={"name": "daily"})).status_code == 200
    refused = await acme.patch(at, json={"name": "other"})
    assert "must be daily," in refused.json()["error"]["message"]
    job = (await made(acme, "cron/daily/trigger", {}))["job"]
    assert (job["meta"]["tenant_id"], job["meta"]["cron_name"]) == ("acme", "daily")
    again = (await acme.post(f"{at}/trigger")).json()["error"]
    assert again["details"]["cron_name"] == "daily"
    history = (await acme.get(f"{at}/history")).json()
    assert (history["name"], history["count"]) == ("daily", 1)
    told = (await acme.get(f"{V1}/events?types=cron.*")).json()["events"]
    assert [one["subject"] for one in told] == ["daily"]
    assert (await beta.get(f"{V1}/events")).json()["events"] == []


async def test_a_template_of_another_tenant_is_refused(acme: httpx.AsyncClient) -> None:
    job = {**STEP, "meta": {"tenant_id": "beta"}}
    body = {"name": "daily", "cron": "@daily", "job_template": job}
    refused = await acme.post(f"{V1}/cron", json=body)
    assert refused.status_code == 400
    assert refused.json()["error"]["details"]["field"] == "meta.tenant_id"


async def test_a_webhook_is_its_tenants(
    client: httpx.AsyncClient, acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    body = {"url": "https://example.com/", "events": ["*"]}
    webhook = (await made(acme, "webhooks/subscriptions", body))["id"]
    at = f"{V1}/webhooks/subscriptions/{webhook}"
    calls: Calls = [
        ("GET", at, None),
        ("PATCH", at, {"active": False}),
        ("POST", f"{at}/rotate-secret", {}),
        ("POST", f"{at}/test", {}),
        ("DELETE", at, None),
    ]
    await same_as_missing(beta, webhook, "sub_01a1f0c0-0000-7000-8000-000000000009", calls)
    for one, total in ((client, 1), (acme, 1), (beta, 0)):
        listed = (await one.get(f"{V1}/webhooks/subscriptions")).json()
        assert listed["pagination"]["total"] == len(listed["items"]) == total
    assert (await acme.patch(at, json={"active": False})).json()["active"] is False
    assert (await acme.post(f"{at}/rotate-secret", json={})).status_code == 200
    assert (await acme.delete(at)).json()["deleted"] is True


async def test_a_delivery_is_its_tenants(
    server: Server, client: httpx.AsyncClient, acme: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    body = {"url": "https://example.com/", "events": ["*"]}
    webhook = (await made(acme, "webhooks/subscriptions", body))["id"]
    await made(beta, "jobs", STEP)
    await made(acme, "jobs", STEP)
    found = await server.engine.read(lambda reader: reader.webhooks([webhook]))
    news = await server.engine.read(lambda reader: look(reader, found, found[0].cursor))
    await server.engine.run(Spread(news, "ojs://test"))
    (sent,) = (await acme.get(f"{V1}/webhooks/deliveries")).json()["deliveries"]
    at = f"{V1}/webhooks/deliveries/{sent['id']}"
    unknown = "dlv_01a1f0c0-0000-7000-8000-000000000009"
    calls: Calls = [("GET", at, None), ("POST", f"{at}/retry", {})]
    await same_as_missing(beta, sent["id"], unknown, calls)
    assert (await acme.get(at)).json()["event"]["data"]["tenant_id"] == "acme"
    assert (await acme.post(f"{at}/retry", json={})).status_code == 409
    for query in ("", f"?subscription_id={webhook}", "?status=pending"):
        path = f"{V1}/webhooks/deliveries{query}"
        for one, total in ((client, 1), (acme, 1), (beta, 0)):
            assert len((await one.get(path)).json()["deliveries"]) == total, path
