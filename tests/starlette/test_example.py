"""The example of FastAPI: orders and the jobs that confirm them, under uvicorn."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import httpx

from tests.e2e.node import running, until

ROOT = Path(__file__).parents[2]
WITHIN_S = 30
_ADDRESS = re.compile(rb"running on (http://127\.0\.0\.1:\d+)")


async def test_the_shop_confirms_its_orders(tmp_path: Path) -> None:
    async with running(f"sqlite:///{tmp_path / 'jobs.db'}") as node, httpx.AsyncClient() as client:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "uvicorn", "shop:app", "--port", "0"),
            *("--app-dir", str(ROOT / "examples" / "fastapi")),
            cwd=tmp_path,
            env={**os.environ, "OJS_URL": node.url},
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        logged = b""
        try:
            while not (found := _ADDRESS.search(logged)):
                line = await asyncio.wait_for(process.stderr.readline(), WITHIN_S)
                assert line, logged.decode()
                logged += line
            orders = f"{found[1].decode()}/orders"
            order = {"number": 7, "customer": "Ada"}
            placed = await client.post(orders, json=order, headers={"X-Request-ID": "r-1"})
            assert placed.status_code == 201, placed.text
            # The job of this one is rolled back with it.
            assert (await client.post(orders, json=order)).status_code == 409

            async def confirmed() -> bool:
                return bool((await client.get(f"{orders}/7")).json()["confirmed"])

            await until(confirmed, WITHIN_S)
            (job,) = (await client.get(f"{node.url}/ojs/v1/jobs")).json()["jobs"]
            assert (job["id"], job["meta"]) == (
                placed.json()["confirmation"],
                {"ojs.context.request_id": "r-1"},
            )
        finally:
            process.terminate()
            logged += (await asyncio.wait_for(process.communicate(), WITHIN_S))[1]
        # The signal ends uvicorn once more when all is done.
        assert process.returncode == -signal.SIGTERM
        assert b"shutdown complete" in logged, logged.decode()
