"""The public clients' recorded exchanges, replayed; and the page that tells of them."""

import re
from pathlib import Path

import httpx
import pytest

from ojs_server.http.routes import Router
from tests.http.exchanges import Recording, recordings, replay

ALL = [(one, name) for one in recordings() for name in one.exchanges]
PAGE = (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("recording", "name"), ALL, ids=[f"{one.client}: {name}" for one, name in ALL]
)
async def test_a_client_finds_what_it_needs(
    recording: Recording, name: str, client: httpx.AsyncClient
) -> None:
    await replay(recording, name, client)


def test_the_page_tells_of_every_client_that_is_replayed() -> None:
    told = re.findall(r"^\| `(ojs-[a-z-]+)` \| ([^|]+) \|", PAGE, re.MULTILINE)
    assert told == [(one.client, one.version) for one in recordings()]


def test_the_page_says_how_to_point_each_at_the_server() -> None:
    for one in recordings():
        assert f"\n## {one.client}\n" in PAGE


def test_what_the_page_calls_missing_is_not_served() -> None:
    missing = re.findall(r"^\| `([A-Z]+) (/[^`]+)` \|", PAGE, re.MULTILINE)
    assert missing
    router = Router()
    for method, path in missing:
        found = router.find(path)
        assert found is None or method not in found[0], f"{method} {path} is served"
