"""Webhooks over TLS: the connection goes to a checked address, the certificate is the name's."""

from pathlib import Path

import pytest

from ojs_server.domain.webhooks.delivery import Reply
from ojs_server.domain.webhooks.target import Reach
from ojs_server.environment import machine
from ojs_server.webhooks.client import WebhookClient
from tests.authority import Authority
from tests.http.target import Target, listening

HOST = "hooks.example"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def posted(target: Target, ca: Path | None) -> Reply:
    """Post to a host name that resolves to the target's address, and return the reply."""

    async def resolve(name: str, port: int) -> list[str]:
        assert name == HOST
        return ["127.0.0.1"]

    sender = WebhookClient(
        Reach(private=True), 10_000, machine(), resolve, ca=str(ca) if ca else None
    )
    try:
        return await sender.post(target.url(HOST), {}, b"{}")
    finally:
        await sender.close()


async def test_the_certificate_is_checked_against_the_name(authority: Authority) -> None:
    async with listening(authority.server(HOST)) as target:
        assert (await posted(target, authority.file)).answer == 200
        assert target.posted[0].headers["host"] == f"{HOST}:{target.port}"
    for other in ("other.example", "127.0.0.1.example"):
        async with listening(authority.server(other)) as target:
            reply = await posted(target, authority.file)
            assert (reply.answer, reply.error) == (None, "the call failed (ConnectError)")
            assert target.posted == []


async def test_an_authority_that_nobody_named_is_not_trusted(authority: Authority) -> None:
    async with listening(authority.server(HOST)) as target:
        reply = await posted(target, None)
        assert (reply.answer, reply.error) == (None, "the call failed (ConnectError)")
        assert target.posted == []
