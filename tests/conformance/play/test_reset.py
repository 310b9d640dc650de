"""The wipe before each case."""

import httpx
import pytest

from conformance.play.reset import ResetError, http_reset
from tests.conformance.fake_server import FakeServer, Reply, failing_client


@pytest.mark.parametrize("where", ["/admin/reset", "http://other/admin/reset"])
async def test_reset_posts_to_a_path_or_url(where: str) -> None:
    server = FakeServer({"POST /admin/reset": Reply(204)})
    async with server.client() as client:
        await http_reset(client, where)()
    assert server.lines == ["POST /admin/reset"]


async def test_a_refused_reset_is_told() -> None:
    async with FakeServer().client() as client:
        with pytest.raises(ResetError) as caught:
            await http_reset(client, "/nowhere")()
    assert str(caught.value) == "POST /nowhere answered 404; a 2xx is expected"


@pytest.mark.parametrize(
    ("error", "told"), [(httpx.ReadTimeout(""), "ReadTimeout"), (httpx.ConnectError("no"), "no")]
)
async def test_a_reset_without_an_answer_is_told(error: httpx.HTTPError, told: str) -> None:
    async with failing_client(lambda _: error) as client:
        with pytest.raises(ResetError) as caught:
            await http_reset(client, "/reset")()
    assert str(caught.value) == f"POST /reset: {told}"
