"""Queues: list, counts in both forms, pause and resume."""

import httpx
import pytest

from ojs_server.app import Server
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.ops.jobs.enqueue import Enqueue
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.steps import V1, active_job, body, discarded_job, enqueue, error_of, refused

QUEUES = f"{V1}/queues"
NOTHING = dict.fromkeys(
    (
        "scheduled",
        "available",
        "pending",
        "active",
        "completed",
        "retryable",
        "cancelled",
        "discarded",
    ),
    0,
)


async def test_queues_appear_with_their_first_job_and_count_by_state(
    client: httpx.AsyncClient,
) -> None:
    assert body(await client.get(QUEUES))["queues"] == []
    await enqueue(client, queue="b")
    await active_job(client, queue="a")
    await discarded_job(client, queue="a")
    queues = body(await client.get(QUEUES))["queues"]
    assert [queue["name"] for queue in queues] == ["a", "b"]
    assert queues[0]["counts"] == {**NOTHING, "active": 1, "discarded": 1}
    assert queues[1]["counts"] == {**NOTHING, "available": 1}
    one = body(await client.get(f"{QUEUES}/a"))["queue"]
    assert {name: one[name] for name in queues[0]} == queues[0]
    assert (one["status"], one["paused"]) == ("active", False)


async def test_the_header_chooses_the_form_of_the_counts(client: httpx.AsyncClient) -> None:
    await enqueue(client, queue="email")
    await enqueue(client, queue="email", scheduled_at="+PT1H")
    counts = {**NOTHING, "available": 1, "scheduled": 1, "depth": 2}
    plain = body(await client.get(f"{QUEUES}/email/stats"))
    assert plain["queue"] == {"name": "email", **counts, "paused": False}
    assert {name: plain["stats"][name] for name in counts} == counts
    versioned = body(await client.get(f"{QUEUES}/email/stats", headers={"OJS-Version": "1.0"}))
    assert versioned["queue"] == "email"
    assert versioned["stats"] == plain["stats"]
    assert {name: versioned[name] for name in counts} == counts


@pytest.mark.parametrize("request_body", [None, {}, {"reason": "deploy"}])
async def test_pausing_works_on_a_queue_that_is_not_there_yet(
    client: httpx.AsyncClient, request_body: dict[str, str] | None
) -> None:
    paused = body(await client.post(f"{QUEUES}/new/pause", json=request_body))
    assert paused["queue"] == {"name": "new", "paused": True}
    assert body(await client.get(f"{QUEUES}/new"))["queue"]["status"] == "paused"
    resumed = body(await client.post(f"{QUEUES}/new/resume", json=request_body))
    assert resumed["queue"] == {"name": "new", "paused": False}
    assert body(await client.get(f"{QUEUES}/new/stats"))["status"] == "active"


UNKNOWN: list[str] = ["unknown", "UPPER", "a%2Fb", "q" * 5000, "-a", "é"]


async def test_an_unknown_queue_is_not_found(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for name in UNKNOWN:
        with subtests.test(name=name):
            for suffix in ("", "/stats"):
                error = error_of(await client.get(f"{QUEUES}/{name}{suffix}"), 404, "not_found")
                if "%2F" not in name:
                    assert error["details"]["resource_type"] == "queue"


BAD_NAMES: list[str] = ["UPPER", "q" * 256, "-a", "a.", "a%0A"]


async def test_a_bad_queue_cannot_be_paused(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for name in BAD_NAMES:
        with subtests.test(name=name):
            for call in ("pause", "resume"):
                response = await client.post(f"{QUEUES}/{name}/{call}")
                refused(response, 400, "invalid_request", "queue")
            assert body(await client.get(QUEUES))["queues"] == []


async def queues_of_one_moment(server: Server, *names: str) -> None:
    """Queues that came at once are listed by name."""
    jobs = [{"type": "a", "args": [], "queue": name} for name in names]
    await server.engine.run(Enqueue(tuple(map(parse_draft, jobs))))


async def test_the_newest_queue_is_listed_first(serve: Serve) -> None:
    hands = Hands()
    async with serve(clock=hands) as server, connect(server) as client:
        for name in ("b", "c", "a"):
            await enqueue(client, queue=name)
            hands.turn(seconds=1)

        async def page(query: str) -> tuple[list[str], str | None]:
            answer = body(await client.get(f"{QUEUES}?{query}"))
            names = [queue["name"] for queue in answer["queues"]]
            return names, answer["pagination"].get("next_cursor")

        names, cursor = await page("limit=2")
        assert names == ["a", "c"]
        # Queues that are added between two requests move no page.
        await queues_of_one_moment(server, "e", "d")
        assert await page(f"limit=2&cursor={cursor}") == (["b"], None)
        names, cursor = await page("limit=1")
        assert names == ["d"]
        names, cursor = await page(f"limit=1&cursor={cursor}")
        assert names == ["e"]
        assert (await page(f"limit=9&cursor={cursor}"))[0] == ["a", "c", "b"]


async def test_the_list_has_pages_in_every_spelling(
    client: httpx.AsyncClient, server: Server
) -> None:
    await queues_of_one_moment(server, "c", "a", "b")

    async def page(query: str) -> tuple[list[str], dict[str, object]]:
        answer = body(await client.get(f"{QUEUES}?{query}"))
        return [queue["name"] for queue in answer["queues"]], answer["pagination"]

    names, pagination = await page("limit=2")
    assert names == ["a", "b"]
    assert pagination == {
        "total": 3,
        "limit": 2,
        "offset": 0,
        "page": 1,
        "per_page": 2,
        "has_more": True,
        "next_cursor": pagination["next_cursor"],
    }
    for query in (
        "limit=2&offset=2",
        "per_page=2&page=2",
        "limit=2&cursor=2",
        f"limit=2&cursor={pagination['next_cursor']}",
    ):
        names, pagination = await page(query)
        assert names == ["c"]
        assert pagination["has_more"] is False
        assert "next_cursor" not in pagination
    assert (await page("limit=&offset=&page=&cursor="))[0] == ["a", "b", "c"]
    assert (await page("limit=99999999999999999999999"))[1]["limit"] == 1000
    assert (await page("offset=99999999999999999999999"))[0] == []
    assert (await page("limit=1&limit=2"))[0] == ["a", "b"]


BAD_PAGES: list[str] = [
    "limit=0",
    "limit=-1",
    "limit=ten",
    "limit=1.5",
    "limit=٣",
    "limit=%00",
    "offset=-1",
    "page=0",
    "per_page=0",
    "limit=0&per_page=5",
    "offset=-1&page=2",
    "cursor=-1",
    "cursor=end",
    "cursor=1.%21",
    "cursor=1.abc",
    "cursor=x.YQ==",
    "cursor=%00",
]


async def test_a_bad_page_is_named(client: httpx.AsyncClient, subtests: pytest.Subtests) -> None:
    for query in BAD_PAGES:
        with subtests.test(query=query):
            response = await client.get(f"{QUEUES}?{query}")
            refused(response, 400, "invalid_request", query.partition("=")[0])
