"""A settle call whose answer is lost with the server is repeated, and nothing is done twice."""

from typing import Any

import httpx

from tests.e2e.node import running

COUNT = 50


async def test_a_call_is_repeated_after_kill_9(store_url: str) -> None:
    async with running(store_url) as node, httpx.AsyncClient(timeout=20) as client:

        async def settle(results: list[dict[str, Any]], fetch_id: str) -> dict[str, Any]:
            fetch = {"queues": ["default"], "count": COUNT, "fetch_id": fetch_id}
            request = {"worker_id": "steady", "results": results, "fetch": fetch}
            answer = await client.post(f"{node.url}/ojs/v1/workers/settle", json=request)
            assert answer.status_code == 200, answer.text
            found: dict[str, Any] = answer.json()
            return found

        # A failed job stays away for longer than the server is.
        later = {"retry": {"initial_interval": "PT10M"}}
        jobs = [{"type": "t.x", "args": [n], "options": later} for n in range(3 * COUNT)]
        await client.post(f"{node.url}/ojs/v1/jobs/batch", json={"jobs": jobs})
        results: list[dict[str, Any]] = []
        seen: list[str] = []
        for turn in range(3):
            first = await settle(results, f"fetch-{turn}")
            await node.kill()
            await node.start()
            again = await settle(results, f"fetch-{turn}")
            assert [job["id"] for job in again["jobs"]] == [job["id"] for job in first["jobs"]]
            states = [one["state"] for one in first["results"]]
            assert states == ["completed", "retryable"] * (len(results) // 2)
            assert [one["state"] for one in again["results"]] == states
            assert all(one["repeated"] for one in again["results"])
            seen += [job["id"] for job in first["jobs"]]
            results = [
                {"job_id": job["id"], "attempt": job["attempt"], "outcome": ("ack", "fail")[n % 2]}
                for n, job in enumerate(first["jobs"])
            ]
        assert len(set(seen)) == len(seen) == 3 * COUNT
        page = (
            await client.get(
                f"{node.url}/ojs/v1/events", params={"types": "job.completed", "limit": "1000"}
            )
        ).json()
        subjects = [event["subject"] for event in page["events"]]
        assert len(subjects) == len(set(subjects)) == COUNT
