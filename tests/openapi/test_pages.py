"""Every list of the contract that comes page by page says truly if there is more."""

import json
from contextlib import closing
from typing import Any, Final

import httpx

from ojs_server.domain.webhooks.delivery import Delivery
from ojs_server.domain.webhooks.request import parse_changes
from ojs_server.domain.webhooks.request import subscribed as webhook_of
from ojs_server.domain.webhooks.target import Reach
from ojs_server.http.access.keys import parse_keys
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from tests.http.conftest import Serve, connect
from tests.http.keys import KEYS, bearer
from tests.http.steps import JOBS, V1, WORKERS, Json, body, job_id
from tests.openapi.operations import OPERATIONS, Operation, resolve

# At least the number of entries in each list.
COUNT: Final = 3
# Its entries are servers, of which there is one.
ALONE: Final = {"listNodes"}
# Other orders and other forms of a list, which are read in other ways.
MORE: Final[dict[str, list[dict[str, str]]]] = {
    "pollEvents": [{"types": "job.enqueued"}, {"page": "1"}, {"page": "1", "types": "cron.*"}],
    "listJobs": [{"queue": "default"}, {"state": "scheduled"}, {"tag": "red"}, {"text": "paged"}],
    "listJobsAsAdmin": [
        {"state": "scheduled", "queue": "default"},
        {"sort": "scheduled_at"},
        {"sort": "scheduled_at", "order": "asc"},
    ],
    "listDeadLetters": [{"queue": "default"}, {"error_type": "Odd"}],
}
# The names of the examples, which the paths have.
EXAMPLES: Final = {
    operation.id: operation.example()[0] for operation in OPERATIONS if operation.method == "GET"
}


def parameters(operation: Operation) -> set[str]:
    """The parameters of a query."""
    found = map(resolve, operation.definition.get("parameters", ()))
    return {one["name"] for one in found if one["in"] == "query"}


PAGED: Final = [
    operation
    for operation in OPERATIONS
    if operation.method == "GET" and "limit" in parameters(operation)
]


async def test_no_list_says_more_than_there_is(serve: Serve, store_url: str) -> None:
    wrong: list[str] = []
    with closing(open_store(store_url)) as store:
        subscribe(store)
    async with serve(keys=parse_keys("", KEYS)) as server, connect(server) as client:
        client.headers.update(bearer("admin"))
        await fill(client)
        for operation in PAGED:
            for query in ({}, *MORE.get(operation.id, ())):
                found = [one async for one in lies(client, operation, query)]
                wrong += [f"{operation.id} {query}: {one}" for one in found]
    assert wrong == []


async def lies(client: httpx.AsyncClient, operation: Operation, query: dict[str, str]) -> Any:
    """Each page of a list that is not as many entries long as it should be, or says so falsely."""
    path = EXAMPLES[operation.id]

    async def page(**place: Any) -> tuple[list[Any], bool, Json]:
        answer = await client.get(path, params={**query, **place})
        assert answer.status_code == 200, answer.text
        shown = body(answer)
        items = shown.get("items") or next(v for v in shown.values() if isinstance(v, list))
        mark = shown.get("pagination", shown)
        following = {"cursor": mark["next_cursor"]} if "next_cursor" in mark else {}
        if mark is shown:
            following = {"after": shown["cursor"]}
        elif mark["has_more"] != bool(following):
            items = []  # one says what the other does not
        return items, mark["has_more"], following

    items, more, _ = await page(limit=100)
    count = len(items)
    if more or count < (1 if operation.id in ALONE else COUNT):
        yield f"{count} entries, and {'' if more else 'no '}more"
        return
    places: list[tuple[dict[str, Any], int, bool]] = [
        ({"limit": count}, count, False),
        ({"limit": 1}, 1, count > 1),
    ]
    if "offset" in parameters(operation):
        places.append(({"limit": count, "offset": 1}, count - 1, False))
        places.append(({"limit": 1, "offset": count - 1}, 1, False))
        places.append(({"per_page": 1, "page": count}, 1, False))
    for place, shown, follows in places:
        items, more, _ = await page(**place)
        if (len(items), more) != (shown, follows):
            yield f"{place}: {len(items)} of {count} entries, and {'' if more else 'no '}more"
    place, left = dict[str, Any](), count
    while left > 0:
        items, more, place = await page(limit=1, **place)
        left -= 1
        if (len(items), more) != (1, left > 0):
            yield f"by cursor: {len(items)} entries with {left} left, and more: {more}"
            return


async def fill(client: httpx.AsyncClient) -> None:
    """Put entries into all lists."""

    async def done(method: str, path: str, sent: Any = None, **headers: str) -> Json:
        answer = await client.request(method, path, json=sent, headers=headers)
        assert answer.is_success, f"{method} {path}: {answer.text}"
        return body(answer) if answer.content else {}

    for n in range(COUNT):
        own = f"n{n}"
        options = {"tags": ["red"], "unique": {"keys": ["type", "args"]}}
        await done("POST", JOBS, {"type": "t", "args": ["paged", n], "options": options})
        await done("POST", JOBS, {"type": "t", "args": [], "scheduled_at": f"+PT{n + 1}H"})
        limited = {"queue": own, "rate_limit": {"key": own, "concurrency": 5}}
        await done("POST", JOBS, {"type": "t", "args": [], "options": limited})
        await done("POST", JOBS, {"type": "t", "args": []}, **{"X-OJS-Tenant": "acme"})
        await done("POST", JOBS, {"type": "t", "args": [], "id": job_id(n + 1), "priority": 9})
        await done("POST", f"{WORKERS}/fetch", {"queues": ["default"], "worker_id": own})
        error = {"type": "Odd", "message": "odd", "retryable": False}
        await done("POST", f"{WORKERS}/nack", {"job_id": job_id(n + 1), "error": error})
        entry = {"name": own, "expression": "@daily", "type": "report.build"}
        await done("POST", f"{V1}/cron", {**entry, "overlap_policy": "allow"})
        chain = {"type": "chain", "steps": [{"type": "a", "args": []}]}
        await done("POST", f"{V1}/workflows", chain)
        await done("PUT", f"{V1}/admin/schemas/{own}/1", {"schema": {"type": "array"}})
        await done("PUT", f"{V1}/admin/tenants/{own}/limits", {})
        await done("PUT", f"{V1}/admin/pools/{own}", {"queues": [own]})
    path = EXAMPLES["getCronHistory"]
    name = path.split("/")[-2]
    entry = {"name": name, "expression": "@daily", "type": "t", "overlap_policy": "allow"}
    await done("POST", f"{V1}/cron", entry)
    for _ in range(COUNT):
        await done("POST", path.replace("/history", "/trigger"))


def subscribe(store: Store) -> None:
    """Store subscriptions and their deliveries, which nobody can post."""
    given = {"url": "https://example.com/", "events": ["*"], "active": False}
    with store.transaction() as tx:
        for n in range(COUNT):
            changes = parse_changes(json.loads(json.dumps(given)), Reach())
            name = f"sub_{job_id(n)}"
            tx.insert_webhooks([webhook_of(changes, name, "a-shared-secret", n)])
            place = f"dlv_{job_id(n)}", name, f"evt_{job_id(n)}"
            # An old one would be removed.
            end = tx.now, tx.now
            tx.insert_deliveries([Delivery(*place, "job.failed", b"{}", "dead", 8, None, *end)])
