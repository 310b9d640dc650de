"""Wrong keys at a real server behind a proxy."""

import httpx
import pytest

from ojs_server.domain.access.failed_attempts import MOST
from tests.e2e.node import running

KEY = "admin-key-0000001"


async def test_clients_behind_a_proxy_have_their_own_wrong_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OJS_KEYS", f"admin:{KEY}")
    async with (
        running(":memory:", "--trusted-proxy", "127.0.0.0/8,::1") as node,
        httpx.AsyncClient(base_url=node.url, trust_env=False) as client,
    ):

        async def status(address: str, key: str) -> int:
            headers = {
                "Forwarded": f'for="{address}";proto=https',
                "Authorization": f"Bearer {key}",
            }
            return (await client.get("/ojs/v1/queues", headers=headers)).status_code

        guesses = [await status("[2001:db8::7]:4711", f"guess-{number}") for number in range(99)]
        assert guesses == [401] * MOST + [429] * (99 - MOST)
        assert await status("[2001:db8::7]:4711", KEY) == 200
        assert await status("192.0.2.8", "guess") == 401
        told = [line for line in node.output if "wrong keys" in line]
        assert len(told) == 1, told
        assert "2001:db8::7" in told[0]
        assert not any("guess" in line for line in node.output)
