"""Queues and their settings over HTTP: every spelling, bounds and limits at work, purges."""

from typing import Any

import httpx
import pytest

from ojs_server.ops.sweep import Sweep
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.users_stores import on_one_store

V1 = "/ojs/v1"
UNSET: dict[str, Any] = {
    "concurrency": None,
    "rate_limit": None,
    "throttle": None,
    "backpressure": None,
    "max_size": None,
    "max_size_bytes": None,
    "overflow_policy": None,
    "visibility_timeout": None,
    "default_timeout": None,
    "default_retry": None,
    "retention": None,
    "dead_letter_ttl": None,
    "dead_letter_max_size": None,
    "allowed_job_types": ["*"],
}


async def put(client: httpx.AsyncClient, queue: str = "q", **options: Any) -> httpx.Response:
    """Enqueue one job."""
    body = {"type": "t", "args": [], "options": {"queue": queue, **options}}
    return await client.post(f"{V1}/jobs", json=body)


async def configure(client: httpx.AsyncClient, body: object, queue: str = "q") -> dict[str, Any]:
    """Replace the settings of a queue; answers them."""
    response = await client.put(f"{V1}/queues/{queue}/config", json=body)
    assert response.status_code == 200, response.text
    config: dict[str, Any] = response.json()["config"]
    return config


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ({}, {}),
        ({"concurrency": 3}, {"concurrency": 3}),
        (
            {"rate_limit": {"limit": 10, "period": "PT1M"}},
            {"rate_limit": {"limit": 10, "period": "PT60S"}},
        ),
        ({"rate_limit": {"max_per_second": 5}}, {"rate_limit": {"limit": 5, "period": "PT1S"}}),
        (
            {"rate_limit": {"concurrency": 2, "rate": {"limit": 1, "period": "second"}}},
            {"concurrency": 2, "rate_limit": {"limit": 1, "period": "PT1S"}},
        ),
        (
            {"backpressure": {"max_depth": 7, "strategy": "drop_oldest"}},
            {
                "backpressure": {
                    "max_depth": 7,
                    "max_size_bytes": None,
                    "strategy": "drop_oldest",
                    "warning_threshold": 0.8,
                },
                "max_size": 7,
                "overflow_policy": "drop_oldest",
            },
        ),
        (
            {"max_size": 7, "max_size_bytes": 100, "overflow_policy": "block"},
            {
                "backpressure": {
                    "max_depth": 7,
                    "max_size_bytes": 100,
                    "strategy": "block",
                    "warning_threshold": 0.8,
                },
                "max_size": 7,
                "max_size_bytes": 100,
                "overflow_policy": "block",
            },
        ),
        ({"backpressure": {"max_depth": 0, "strategy": "reject"}}, {}),
        (
            {"visibility_timeout": "PT2M", "default_timeout": 30, "retention": {"completed": "1h"}},
            {
                "visibility_timeout": 120,
                "default_timeout": 30,
                "retention": {"completed": "PT3600S"},
            },
        ),
        (
            {"visibility_timeout_ms": 90_000, "default_timeout": "1.5s"},
            {"visibility_timeout": 90, "default_timeout": 1.5},
        ),
        ({"retention": {}, "allowed_job_types": []}, {}),
        ({"retention": "7d"}, {"retention": {"completed": "P7D", "cancelled": "P7D"}}),
        ({"retention": 3600}, {"retention": {"completed": "PT3600S", "cancelled": "PT3600S"}}),
        ({"allowed_job_types": None, "producers": ["*"]}, {}),
        (
            {"dead_letter_ttl": "P30D", "dead_letter_max_size": 500.0},
            {"dead_letter_ttl": "P30D", "dead_letter_max_size": 500},
        ),
        ({"allowed_job_types": ["mail.*"]}, {"allowed_job_types": ["mail.*"]}),
        ({"allowed_job_types": ["mail.*", "*"]}, {}),
    ],
)
async def test_settings_are_read_in_every_spelling_and_answered_in_one(
    client: httpx.AsyncClient, body: object, changed: dict[str, Any]
) -> None:
    assert await configure(client, body) == UNSET | changed
    read = await client.get(f"{V1}/queues/q/config")
    assert read.json()["config"] == UNSET | changed
    # The answer is accepted as a request.
    assert await configure(client, read.json()["config"]) == UNSET | changed


@on_one_store
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"concurrency": -1}, "concurrency"),
        ({"rate_limit": {"limit": 0, "period": "PT1S"}}, "rate_limit.limit"),
        ({"rate_limit": 5}, "rate_limit"),
        ({"backpressure": []}, "backpressure"),
        ({"backpressure": {"max_depth": -1}}, "backpressure.max_depth"),
        ({"backpressure": {"max_depth": "many"}}, "backpressure.max_depth"),
        ({"backpressure": {"max_depth": 1, "strategy": "rejekt"}}, "backpressure.strategy"),
        ({"backpressure": {"warning_threshold": 2}}, "backpressure.warning_threshold"),
        ({"max_size": 1.5}, "max_size"),
        ({"overflow_policy": "x"}, "overflow_policy"),
        ({"max_size": "many", "backpressure": {"max_depth": 1}}, "max_size"),
        ({"overflow_policy": 1, "backpressure": {"strategy": "block"}}, "overflow_policy"),
        ({"concurrency": {}}, "concurrency.limit"),
        ({"visibility_timeout": 0}, "visibility_timeout"),
        ({"visibility_timeout": {}}, "visibility_timeout"),
        ({"visibility_timeout_ms": 0, "visibility_timeout": 1}, "visibility_timeout_ms"),
        ({"default_timeout": "soon"}, "default_timeout"),
        ({"default_timeout": False}, "default_timeout"),
        ({"default_timeout": ""}, "default_timeout"),
        ({"default_retry": 5}, "default_retry"),
        ({"default_retry": {"max_attempts": -1}}, "default_retry.max_attempts"),
        (
            {"default_retry": {"initial_interval": "PT9S", "max_interval": "PT1S"}},
            "default_retry.max_interval",
        ),
        ({"retention": {"completed": 0}}, "retention.completed"),
        ({"retention": "soon"}, "retention"),
        ({"retention": 0}, "retention"),
        ({"retention": True}, "retention"),
        ({"retention": ["7d"]}, "retention"),
        ({"dead_letter_ttl": 0}, "dead_letter_ttl"),
        ({"dead_letter_max_size": 0}, "dead_letter_max_size"),
        ({"allowed_job_types": "*"}, "allowed_job_types"),
        ({"allowed_job_types": ["a[b]"]}, "allowed_job_types"),
    ],
)
async def test_settings_that_make_no_sense_change_nothing(
    client: httpx.AsyncClient, body: object, field: str
) -> None:
    before = await configure(client, {"concurrency": 2})
    response = await client.put(f"{V1}/queues/q/config", json=body)
    assert response.status_code == 400
    assert response.json()["error"]["details"]["field"] == field
    assert response.json()["error"]["message"].startswith(f"`{field}` ")
    assert (await client.get(f"{V1}/queues/q/config")).json()["config"] == before


async def test_a_setting_that_is_not_built_is_refused(client: httpx.AsyncClient) -> None:
    for setting in ({"dead_letter_queue": "dlq"}, {"producers": ["web"]}):
        response = await client.put(f"{V1}/queues/q/config", json=setting)
        assert response.status_code == 422
        assert response.json()["error"]["code"] == "unsupported"
        assert response.json()["error"]["details"]["field"] in setting


async def test_strict_servers_refuse_unknown_settings_by_name(
    strict_client: httpx.AsyncClient,
) -> None:
    for body, field in (
        ({"concurency": 1}, "concurency"),
        ({"backpressure": {"max_dept": 1}}, "backpressure.max_dept"),
    ):
        response = await strict_client.put(f"{V1}/queues/q/config", json=body)
        assert response.status_code == 422
        assert response.json()["error"]["details"]["field"] == field


async def test_a_change_leaves_what_it_does_not_name(client: httpx.AsyncClient) -> None:
    await configure(client, {"concurrency": 2, "rate_limit": {"limit": 1, "period": 1}})
    changed = await client.patch(f"{V1}/queues/q/config", json={"concurrency": 5})
    rate = {"limit": 1, "period": "PT1S"}
    assert changed.json()["config"] == UNSET | {"concurrency": 5, "rate_limit": rate}
    changed = await client.patch(f"{V1}/queues/q/config", json={"concurrency": None})
    assert changed.json()["config"] == UNSET | {"rate_limit": rate}
    limits = {"concurrency": 1, "rate": {"limit": 4, "period": "PT1S"}}
    limited = await client.put(f"{V1}/admin/queues/q/rate-limit", json=limits)
    assert limited.json()["config"]["concurrency"] == 1
    assert limited.json()["config"]["rate_limit"] == {"limit": 4, "period": "PT1S"}


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "admin/queues/q/config"), ("PATCH", "queues/q/config")],
)
async def test_an_update_sets_and_unsets_the_members_that_it_names(
    client: httpx.AsyncClient, method: str, path: str
) -> None:
    settings = {
        "max_size": 50,
        "max_size_bytes": 5000,
        "overflow_policy": "block",
        "allowed_job_types": ["mail.*"],
        "visibility_timeout": 60,
        "retention": {"completed": "P7D", "discarded": "P30D"},
    }
    before = await configure(client, settings | {"concurrency": 2})

    async def update(body: dict[str, Any]) -> dict[str, Any]:
        response = await client.request(method, f"{V1}/{path}", json=body)
        assert response.status_code == 200, response.text
        config: dict[str, Any] = response.json()["config"]
        return config

    limits = {"concurrency": 5, "rate_limit": {"limit": 10, "period": "1m"}}
    rate = {"limit": 10, "period": "PT60S"}
    assert await update(limits) == before | {"concurrency": 5, "rate_limit": rate}
    unset = {"concurrency": None, "visibility_timeout": None, "retention": None, "rate_limit": None}
    assert await update(unset) == before | unset
    bounds = {"max_depth": 60, "max_size_bytes": 5000, "strategy": "block"}
    larger = before | unset | {"max_size": 60, "backpressure": bounds | {"warning_threshold": 0.8}}
    assert await update({"max_size": 60}) == larger
    assert await update({"backpressure": {"max_depth": 7}}) == before | unset | {
        "max_size": 7,
        "max_size_bytes": None,
        "overflow_policy": "reject",
        "backpressure": {
            "max_depth": 7,
            "max_size_bytes": None,
            "strategy": "reject",
            "warning_threshold": 0.8,
        },
    }
    none = UNSET | {"allowed_job_types": ["mail.*"]}
    assert await update({"max_size": None}) == none


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"rate_limit": {"limit": 1, "period": 1}, "rate": {"limit": 2, "period": 1}},
            {"rate_limit": {"limit": 1, "period": "PT1S"}},
        ),
        ({"concurrency": 1, "rate_limit": {"concurrency": 2}}, {"concurrency": 1}),
        ({"visibility_timeout": 1, "visibility_timeout_ms": 2}, {"visibility_timeout": 1}),
        (
            {"throttle": {"limit": 1, "period": 1}, "rate_limit": {"throttle": {"limit": 2}}},
            {"throttle": {"limit": 1, "period": "PT1S"}},
        ),
        ({"backpressure": {"max_depth": 1}, "max_size": 2, "max_depth": 3}, {"max_size": 1}),
        (
            {"backpressure": {"max_depth": 1, "strategy": "block"}, "overflow_policy": "reject"},
            {"overflow_policy": "block"},
        ),
    ],
)
async def test_of_two_spellings_the_canonical_one_counts(
    client: httpx.AsyncClient, body: dict[str, Any], expected: dict[str, Any]
) -> None:
    config = await configure(client, body)
    assert {name: config[name] for name in expected} == expected


async def test_a_queue_is_created_once(client: httpx.AsyncClient) -> None:
    body = {"name": "new", "config": {"concurrency": 1}}
    made = await client.post(f"{V1}/queues", json=body)
    assert made.status_code == 201
    assert made.headers["location"] == f"{V1}/queues/new"
    assert made.json()["config"]["concurrency"] == 1
    assert (await client.post(f"{V1}/queues", json=body)).status_code == 409
    assert (await client.post(f"{V1}/queues", json={"name": "Bad!"})).status_code == 400
    names = [queue["name"] for queue in (await client.get(f"{V1}/queues")).json()["queues"]]
    assert names == ["new"]


FLAT = {"concurrency": 3, "max_size": 100, "retention": "24h"}


async def test_a_strict_server_takes_settings_beside_the_name_of_a_new_queue(
    strict_client: httpx.AsyncClient,
) -> None:
    made = await strict_client.post(f"{V1}/queues", json={"name": "flat", **FLAT})
    assert (made.status_code, made.json()["config"]["concurrency"]) == (201, 3)
    unknown = await strict_client.post(f"{V1}/queues", json={"name": "x", "concurency": 1})
    assert unknown.status_code == 422
    assert 'did you mean "concurrency"' in unknown.json()["error"]["message"]


async def test_a_queue_is_created_with_settings_beside_its_name(
    client: httpx.AsyncClient,
) -> None:
    made = await client.post(f"{V1}/queues", json={"name": "flat", **FLAT})
    config = made.json()["config"]
    assert (config["concurrency"], config["max_size"]) == (3, 100)
    assert config["retention"] == {"completed": "P1D", "cancelled": "P1D"}
    # Settings in `config` take precedence, by whatever name.
    both = {"name": "both", **FLAT, "config": {"backpressure": {"max_depth": 5}, "retention": None}}
    config = (await client.post(f"{V1}/queues", json=both)).json()["config"]
    assert (config["concurrency"], config["max_size"], config["retention"]) == (3, 5, None)
    swapped = {"name": "swapped", "backpressure": {"max_depth": 5}, "config": {"max_size": 7}}
    config = (await client.post(f"{V1}/queues", json=swapped)).json()["config"]
    assert config["max_size"] == 7
    wrong = {"name": "wrong", "concurrency": -1, "config": {"concurrency": 1}}
    refused = await client.post(f"{V1}/queues", json=wrong)
    assert refused.json()["error"]["details"]["field"] == "concurrency"


async def test_one_duration_leaves_dead_letters_alone(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        await configure(client, {"retention": "1h"})
        for last in ("ack", "nack", "nack"):
            retry = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
            job = (await put(client, retry=retry)).json()["job"]["id"]
            await client.post(f"{V1}/workers/fetch", json={"queues": ["q"]})
            await client.post(
                f"{V1}/workers/{last}", json={"job_id": job, "error": {"message": "no"}}
            )
        gone = (await put(client)).json()["job"]["id"]
        await client.delete(f"{V1}/jobs/{gone}")
        hands.turn(seconds=3601)
        await server.engine.run(Sweep(reachable_since=0, requested_at=hands()))
        left = (await client.get(f"{V1}/jobs")).json()["jobs"]
    assert [job["state"] for job in left] == ["discarded", "discarded"]


async def test_a_full_queue_answers_429_with_all_that_clients_read(
    client: httpx.AsyncClient,
) -> None:
    await configure(client, {"backpressure": {"max_depth": 2, "strategy": "reject"}})
    first, second = await put(client), await put(client)
    assert "x-ojs-queue-pressure" not in first.headers
    assert second.headers["x-ojs-queue-pressure"] == "1"
    refused = await put(client)
    assert refused.status_code == 429
    error = refused.json()["error"]
    assert (error["code"], error["retryable"]) == ("QUEUE_FULL", True)
    assert (error["queue"], error["depth"], error["bound"], error["strategy"]) == (
        "q",
        2,
        2,
        "reject",
    )
    assert refused.headers["retry-after"] == "1"
    assert refused.headers["x-ojs-queue-depth"] == "2"
    assert refused.headers["x-ojs-queue-bound"] == "2"
    batch = {"jobs": [{"type": "t", "args": [], "queue": "q"}] * 3}
    assert (await client.post(f"{V1}/jobs/batch", json=batch)).status_code == 429
    stats = (await client.get(f"{V1}/queues/q/stats")).json()["stats"]
    assert (stats["depth"], stats["max_depth"], stats["pressure"]) == (2, 2, 1)


async def test_a_producer_says_how_long_it_waits(client: httpx.AsyncClient) -> None:
    await configure(client, {"backpressure": {"max_depth": 1, "strategy": "block"}})
    await put(client)
    body = {"type": "t", "args": [], "queue": "q"}
    for seconds in ("0", "0.05"):
        headers = {"OJS-Block-Timeout": seconds}
        assert (await client.post(f"{V1}/jobs", json=body, headers=headers)).status_code == 429
    for wrong in ("soon", "-1", "1e3", "1000001"):
        headers = {"OJS-Block-Timeout": wrong}
        refused = await client.post(f"{V1}/jobs", json=body, headers=headers)
        assert refused.status_code == 400
        assert refused.json()["error"]["details"]["header"] == "OJS-Block-Timeout"


async def test_a_job_type_that_a_queue_does_not_take_is_refused(client: httpx.AsyncClient) -> None:
    await configure(client, {"allowed_job_types": ["mail.*"]})
    refused = await put(client)
    assert refused.status_code == 400
    assert refused.json()["error"]["details"]["allowed"] == ["mail.*"]


async def test_a_purge_must_be_meant_and_says_what_it_took(client: httpx.AsyncClient) -> None:
    for _ in range(3):
        await put(client)
    await put(client, "other")
    fetched = await client.post(f"{V1}/workers/fetch", json={"queues": ["q"]})
    assert len(fetched.json()["jobs"]) == 1
    path = f"{V1}/admin/queues/q/jobs"
    unmeant = await client.request("DELETE", path, json={"states": ["available"]})
    assert unmeant.status_code == 400
    active = await client.request("DELETE", path, json={"states": ["active"], "confirm": True})
    assert active.status_code == 400
    old = {"older_than": "PT1H", "confirm": True}
    assert (await client.request("DELETE", path, json=old)).json()["purged_count"] == 0
    purged = await client.post(f"{V1}/queues/q/purge", json={"confirm": True})
    assert purged.json()["purged_count"] == 2
    queues = {one["name"]: one for one in (await client.get(f"{V1}/queues")).json()["queues"]}
    assert queues["q"]["counts"]["active"] == 1
    assert queues["other"]["counts"]["available"] == 1


@pytest.mark.parametrize(
    ("older_than", "count"),
    [("2000-01-31t09:00:00z", 0), (3600, 0), ("2100-01-31T09:00:00Z", 1), ("PT0S", 1)],
)
async def test_a_purge_reads_moments_and_spans(
    serve: Serve, older_than: object, count: int
) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        await put(client)
        # A job is not older than the millisecond of its making.
        hands.turn(seconds=1)
        body = {"older_than": older_than, "confirm": True}
        purged = await client.request("DELETE", f"{V1}/queues/q/jobs", json=body)
        assert purged.status_code == 200, purged.text
        assert purged.json()["purged_count"] == count


@pytest.mark.parametrize("older_than", ["soon", False, {}, "2000-02-31T09:00:00Z", "P9999Y"])
async def test_a_purge_refuses_what_is_no_time(
    client: httpx.AsyncClient, older_than: object
) -> None:
    await put(client)
    body = {"older_than": older_than, "confirm": True}
    refused = await client.request("DELETE", f"{V1}/queues/q/jobs", json=body)
    assert refused.status_code == 400
    assert refused.json()["error"]["details"]["field"] == "older_than"


async def test_the_strategy_of_a_deletion_is_checked(client: httpx.AsyncClient) -> None:
    for strategy in ("", "rejekt"):
        body = {"strategy": strategy}
        refused = await client.request("DELETE", f"{V1}/queues/q", json=body)
        assert refused.status_code == 400
        assert refused.json()["error"]["details"]["field"] == "strategy"


async def test_a_queue_with_jobs_is_deleted_only_if_that_is_meant(
    client: httpx.AsyncClient,
) -> None:
    await configure(client, {"concurrency": 1})
    await put(client)
    await put(client)
    await client.post(f"{V1}/workers/fetch", json={"queues": ["q"]})
    assert (await client.delete(f"{V1}/queues/q")).status_code == 409
    gone = await client.request("DELETE", f"{V1}/queues/q", json={"strategy": "discard"})
    assert gone.status_code == 202
    assert (gone.json()["jobs_affected"], gone.json()["state"]) == (2, "deleted")
    assert (await client.get(f"{V1}/queues/q")).status_code == 404
    # It may be used again, without its settings.
    await put(client)
    assert (await client.get(f"{V1}/queues/q/config")).json()["config"] == UNSET
    assert (await client.post(f"{V1}/workers/fetch", json={"queues": ["q"]})).json()["jobs"]


async def test_the_jobs_of_a_queue_that_goes_can_be_moved(client: httpx.AsyncClient) -> None:
    await configure(client, {"concurrency": 1})
    await put(client)
    await put(client)
    held = (await client.post(f"{V1}/workers/fetch", json={"queues": ["q"]})).json()["jobs"][0]
    gone = await client.request(
        "DELETE", f"{V1}/queues/q", json={"strategy": "move", "target_queue": "b"}
    )
    assert gone.status_code == 202
    assert gone.json() == {
        "queue": "q",
        "strategy": "move",
        "target_queue": "b",
        "jobs_affected": 2,
        "state": "deleted",
    }
    assert (await client.get(f"{V1}/queues/q")).status_code == 404
    assert (await client.post(f"{V1}/workers/ack", json={"job_id": held["id"]})).status_code == 200
    (other,) = (await client.post(f"{V1}/workers/fetch", json={"queues": ["b"]})).json()["jobs"]
    assert other["queue"] == "b"


async def test_a_target_to_move_to_is_another_queue(client: httpx.AsyncClient) -> None:
    await put(client)
    for target in (None, "q", "Not A Queue"):
        body = {"strategy": "move", "target_queue": target}
        refused = await client.request("DELETE", f"{V1}/queues/q", json=body)
        assert refused.status_code == 400
        assert refused.json()["error"]["details"]["field"] == "target_queue"
    body = {"strategy": "discard", "target_queue": "Not A Queue"}
    refused = await client.request("DELETE", f"{V1}/queues/q", json=body)
    assert refused.json()["error"]["details"]["field"] == "target_queue"
    assert (await client.get(f"{V1}/queues/q")).json()["queue"]["paused"] is False


async def test_the_admin_api_pauses_in_its_flat_form(client: httpx.AsyncClient) -> None:
    paused = await client.post(f"{V1}/admin/queues/q/pause")
    assert (paused.json()["name"], paused.json()["paused"]) == ("q", True)
    resumed = await client.post(f"{V1}/admin/queues/q/resume")
    assert resumed.json()["paused"] is False


async def test_settings_need_an_admin(keyed_client: httpx.AsyncClient) -> None:
    response = await keyed_client.put(f"{V1}/queues/q/config", json={})
    assert response.status_code == 401


async def told(client: httpx.AsyncClient) -> list[str]:
    """The types of all events; each is held to the contract."""
    page = await client.get(f"{V1}/events", params={"limit": 1000})
    return [event["type"] for event in page.json()["events"]]


async def test_what_happens_to_a_queue_is_told_as_the_contract_has_it(
    client: httpx.AsyncClient,
) -> None:
    bounds = {"max_depth": 1, "strategy": "drop_oldest"}
    await configure(client, {"backpressure": bounds, "default_retry": {"max_attempts": 2}})
    await put(client)
    await put(client)
    batch = {"jobs": [{"type": "t", "args": [], "queue": "q"}] * 2}
    assert (await client.post(f"{V1}/jobs/batch", json=batch)).status_code == 429
    await client.post(f"{V1}/workers/fetch", json={"queues": ["q"]})
    await client.post(f"{V1}/queues/q/purge", json={"confirm": True})
    await client.request("DELETE", f"{V1}/queues/q", json={"strategy": "discard"})
    kinds = await told(client)
    for kind in (
        "queue.configured",
        "queue.purged",
        "queue.deleted",
        "backpressure.warning",
        "backpressure.rejected",
        "backpressure.dropped",
        "backpressure.cleared",
    ):
        assert kind in kinds, kind
    place = kinds.index("backpressure.dropped")
    assert kinds[place + 1 : place + 3] == ["job.discarded", "dead_letter.added"]


async def test_what_happens_to_a_key_is_told_as_the_contract_has_it(
    client: httpx.AsyncClient,
) -> None:
    await put(client, rate_limit={"key": "k", "concurrency": 1})
    await put(client, rate_limit={"key": "k", "concurrency": 1})
    await put(client, rate_limit={"key": "k", "concurrency": 1, "on_limit": "drop"})
    fetched = await client.post(f"{V1}/workers/fetch", json={"queues": ["q"], "count": 9})
    (job,) = fetched.json()["jobs"]
    await client.post(f"{V1}/workers/ack", json={"job_id": job["id"]})
    await client.put(f"{V1}/rate-limits/k", json={"concurrency": 2, "expires_at": "+PT1H"})
    kinds = await told(client)
    for kind in ("exceeded", "released", "dropped", "dynamic_adjusted"):
        assert f"rate_limit.{kind}" in kinds, kind
    place = kinds.index("rate_limit.dropped")
    assert kinds[place + 1 : place + 3] == ["job.discarded", "dead_letter.added"]
