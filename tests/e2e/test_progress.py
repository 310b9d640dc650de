"""Progress and checkpoints survive the death of the server, and of a worker."""

import httpx

from tests.e2e.node import running, until

V1 = "/ojs/v1"


async def test_a_job_goes_on_from_its_checkpoint_after_all_has_died(store_url: str) -> None:
    async with running(store_url) as node, httpx.AsyncClient(timeout=30) as client:

        async def call(method: str, path: str, **body: object) -> httpx.Response:
            answer = await client.request(method, node.url + V1 + path, json=body or None)
            assert answer.status_code in (200, 201), answer.text
            return answer

        options = {"heartbeat_timeout": 2, "retry": {"initial_interval": "PT0.01S"}}
        made = await call("POST", "/jobs", type="t", args=[], options=options)
        job = f"/jobs/{made.json()['job']['id']}"
        await call("POST", "/workers/fetch", queues=["default"], worker_id="w1")
        await call("PUT", f"{job}/checkpoint", state={"row": 700}, worker_id="w1", attempt=1)
        await call("PUT", f"{job}/progress", progress=0.7, checkpoint={"row": 699})
        await node.kill()
        await node.start()
        # The server was away, so nobody was silent yet.
        found = (await call("GET", job)).json()["job"]
        assert (found["state"], found["progress"]) == ("active", 0.7)
        saved = (await call("GET", f"{job}/checkpoint")).json()
        assert (saved["state"], saved["sequence"]) == ({"row": 700}, 1)

        async def taken_back() -> bool:
            return bool((await call("GET", job)).json()["job"]["state"] != "active")

        await until(taken_back, within_s=30)
        # The delay and its jitter are over within a second or so.
        again = await call("POST", "/workers/fetch", queues=["default"], wait_ms=20_000)
        (delivery,) = again.json()["jobs"]
        assert (delivery["attempt"], delivery["error"]["type"]) == (2, "stalled")
        assert delivery["checkpoint"] == {"state": {"row": 700}, "sequence": 1}
        assert delivery["last_checkpoint"] == {"row": 699}
