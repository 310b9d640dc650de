"""Searches of Camunda's REST API, on both stores."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from ojs_server.app import Application
from ojs_server.domain.profile import PROFILES
from ojs_server.store.tables import job_lists
from tests.http.conftest import Serve
from tests.users_stores import on_one_store


@pytest.fixture
async def camunda(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server with these calls."""
    async with serve(conformance=False, profile=PROFILES["zeebe"]) as server:
        transport = httpx.ASGITransport(app=Application(server))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost/v2") as client:
            yield client


async def post(camunda: httpx.AsyncClient, path: str, body: dict[str, Any]) -> Any:
    """Make a call that has to succeed."""
    answer = await camunda.post(path, json=body)
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


async def start(camunda: httpx.AsyncClient, process: str, **variables: Any) -> str:
    body = {"processDefinitionId": process, "variables": variables}
    key: str = (await post(camunda, "/process-instances", body))["processInstanceKey"]
    return key


async def take(camunda: httpx.AsyncClient, kind: str) -> None:
    body = {"type": kind, "worker": "w", "timeout": 60_000, "maxJobsToActivate": 50}
    await post(camunda, "/jobs/activation", {**body, "requestTimeout": -1})


async def find(camunda: httpx.AsyncClient, what: str, **body: Any) -> tuple[list[Any], Any]:
    found = await post(camunda, f"/{what}/search", body)
    return found["items"], found["page"]


async def test_jobs_are_found_by_their_state_type_and_key(camunda: httpx.AsyncClient) -> None:
    waiting, running, done, failed = [await start(camunda, "Send Email") for _ in range(4)]
    other = await start(camunda, "getCustomer")
    await post(camunda, f"/process-instances/{waiting}/cancellation", {})
    await take(camunda, "Send Email")
    await post(camunda, f"/jobs/{done}/completion", {})
    await post(camunda, f"/jobs/{failed}/error", {"errorCode": "NO_MAIL", "errorMessage": "no"})

    items, page = await find(camunda, "jobs", filter={"type": "Send Email"})
    assert [item["jobKey"] for item in items] == [failed, done, running, waiting]
    assert [item["state"] for item in items] == ["FAILED", "COMPLETED", "CREATED", "CANCELED"]
    assert (page["totalItems"], page["hasMoreTotalItems"]) == (4, False)
    assert (items[2]["worker"], items[2]["retries"], items[2]["kind"]) == ("w", 3, "BPMN_ELEMENT")
    assert items[2]["deadline"].endswith("Z")
    assert (items[0]["errorCode"], items[0]["errorMessage"]) == ("NO_MAIL", "no")
    assert {item["processDefinitionId"] for item in items} == {"Send Email"}

    items, _ = await find(camunda, "jobs", filter={"state": {"$in": ["CREATED", "COMPLETED"]}})
    assert [item["jobKey"] for item in items] == [other, done, running]
    items, _ = await find(camunda, "jobs", filter={"jobKey": {"$eq": running}})
    assert [item["jobKey"] for item in items] == [running]
    for nothing in (
        {"jobKey": running, "type": "getCustomer"},
        {"jobKey": "none"},
        {"jobKey": "77"},
        {"state": "TIMED_OUT"},
        {"tenantId": "acme"},
    ):
        assert (await find(camunda, "jobs", filter=nothing)) == (
            [],
            {"totalItems": 0, "hasMoreTotalItems": False},
        )


async def test_an_incident_is_found_until_it_is_resolved(camunda: httpx.AsyncClient) -> None:
    failed, thrown = [await start(camunda, "pay") for _ in range(2)]
    await take(camunda, "pay")
    await post(camunda, f"/jobs/{failed}/failure", {"retries": 0, "errorMessage": "no card"})
    await post(camunda, f"/jobs/{thrown}/error", {"errorCode": "NO_MONEY"})
    items, _ = await find(camunda, "incidents", filter={"processDefinitionId": "pay"})
    told = [(item["incidentKey"], item["errorType"], item["state"]) for item in items]
    assert told == [
        (thrown, "UNHANDLED_ERROR_EVENT", "ACTIVE"),
        (failed, "JOB_NO_RETRIES", "ACTIVE"),
    ]
    assert items[1]["errorMessage"] == "no card"
    [instance], _ = await find(camunda, "process-instances", filter={"processInstanceKey": failed})
    assert (instance["state"], instance["hasIncident"]) == ("ACTIVE", True)
    assert "endDate" not in instance
    await post(camunda, f"/incidents/{failed}/resolution", {})
    items, _ = await find(camunda, "incidents")
    assert [item["jobKey"] for item in items] == [thrown]


async def test_pages_follow_each_other(camunda: httpx.AsyncClient) -> None:
    keys = [await start(camunda, "pay") for _ in range(5)]
    newest = keys[::-1]

    async def page(**page: Any) -> tuple[list[str], Any]:
        items, shown = await find(camunda, "process-instances", page=page, sort=sort)
        return [item["processInstanceKey"] for item in items], shown

    for order, expected in (("DESC", newest), ("ASC", keys)):
        sort = [{"field": "startDate", "order": order}]
        first, shown = await page(limit=2)
        assert (first, shown["totalItems"]) == (expected[:2], 5)
        second, after = await page(limit=2, after=shown["endCursor"])
        assert second == expected[2:4]
        back, _ = await page(limit=2, before=after["startCursor"])
        assert back == first
        assert (await page(**{"from": 3}))[0] == expected[3:]


async def test_jobs_get_keys_when_they_are_found(camunda: httpx.AsyncClient) -> None:
    body = {"jobs": [{"type": "mail", "args": []} for _ in range(3)]}
    await camunda.post("http://localhost/ojs/v1/jobs/batch", json=body)
    items, _ = await find(camunda, "jobs")
    keys = [int(item["jobKey"]) for item in items]
    assert keys == sorted(set(keys), reverse=True)
    await take(camunda, "mail")
    again, _ = await find(camunda, "jobs", filter={"jobKey": str(keys[0])})
    assert again[0]["worker"] == "w"


async def test_a_search_is_bounded(camunda: httpx.AsyncClient) -> None:
    for count in (1000, 150):
        body = {"jobs": [{"type": "mail", "args": []}] * count}
        await camunda.post("http://localhost/ojs/v1/jobs/batch", json=body)
    items, page = await find(camunda, "jobs", page={"limit": 5000})
    assert (len(items), page["totalItems"], page["hasMoreTotalItems"]) == (100, 1000, True)
    seen = {item["jobKey"] for item in items}
    while items:
        following = {"after": page["endCursor"]}
        items, page = await find(camunda, "jobs", page=following)
        seen |= {item["jobKey"] for item in items}
    assert len(seen) == 1150
    oldest = {"sort": [{"field": "jobKey", "order": "ASC"}]}
    answer = await camunda.post("/jobs/search", json=oldest)
    assert (answer.status_code, "DESC" in answer.json()["detail"]) == (400, True)
    few, _ = await find(camunda, "jobs", filter={"type": "none"}, **oldest)
    assert few == []


async def test_a_tenant_finds_its_own(camunda: httpx.AsyncClient) -> None:
    mine = {"X-OJS-Tenant": "acme"}
    body = {"processDefinitionId": "pay"}
    made = await camunda.post("/process-instances", json=body, headers=mine)
    key = made.json()["processInstanceKey"]
    await start(camunda, "pay")
    for filters in ({}, {"jobKey": key}):
        found = await camunda.post("/jobs/search", json={"filter": filters}, headers=mine)
        assert [item["jobKey"] for item in found.json()["items"]] == [key]
    theirs = await camunda.post(
        "/jobs/search", json={"filter": {"jobKey": key}}, headers={"X-OJS-Tenant": "beta"}
    )
    assert theirs.json()["items"] == []


@on_one_store
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"filter": {"worker": "w"}}, "filter.worker"),
        ({"filter": {"type": {"$like": "a*"}}}, "filter.type"),
        ({"filter": {"type": {"$in": ["a", "b"]}}}, "filter.type"),
        ({"filter": {"type": {"$eq": None}}}, "filter.type"),
        ({"filter": {"state": "RUNNING"}}, "filter.state"),
        ({"sort": [{"field": "retries"}]}, "sort"),
        ({"sort": [{"field": "jobKey"}, {"field": "jobKey"}]}, "sort"),
        ({"sort": [{"field": "jobKey", "order": "UP"}]}, "sort.order"),
        ({"page": {"from": -1}}, "page.from"),
        ({"page": {"limit": 10_001}}, "page.limit"),
        ({"page": {"after": "7"}}, "page.after"),
        ({"page": {"before": "AAAA"}}, "page.before"),
        ({"page": {"after": "ä"}}, "page.after"),
    ],
)
async def test_what_cannot_be_answered_is_refused(
    camunda: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    answer = await camunda.post("/jobs/search", json=body)
    assert (answer.status_code, answer.json()["title"]) == (400, "INVALID_ARGUMENT")
    assert f"`{field}`" in answer.json()["detail"]


async def test_rare_jobs_are_found_behind_many_others(
    camunda: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search looks at a bounded number of jobs, and says where the next one goes on."""
    monkeypatch.setattr(job_lists, "LOOK_AHEAD", 3)
    rare = await start(camunda, "rare")
    for _ in range(8):
        await start(camunda, "mail")
    filters = {"processDefinitionId": "rare"}
    pages = [await find(camunda, "jobs", filter=filters)]
    while not pages[-1][0]:
        following = {"after": pages[-1][1]["endCursor"]}
        pages.append(await find(camunda, "jobs", filter=filters, page=following))
    assert [item["jobKey"] for item in pages[-1][0]] == [rare]
    assert len(pages) > 1
