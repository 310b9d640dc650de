"""Paths and methods: one path answers for all of its methods, and is found as it is written."""

import httpx
import pytest

from tests.http.steps import JOBS, V1, error_of


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", f"{JOBS}/batch", "POST"),
        ("DELETE", f"{V1}/workers/fetch", "POST"),
        ("POST", f"{V1}/health", "GET, HEAD"),
    ],
)
async def test_a_path_is_not_taken_for_another_by_its_method(
    client: httpx.AsyncClient, method: str, path: str, allowed: str
) -> None:
    answer = await client.request(method, path)
    error_of(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize("path", [f"{JOBS}/", f"{JOBS}%0A", f"/{JOBS}", V1, f"{V1}/"])
async def test_a_path_is_found_only_as_it_is_written(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "there is no such path"


async def test_a_line_break_may_stand_in_a_name(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{V1}/queues/a%0Ab")
    assert answer.json()["error"]["message"] != "there is no such path"


async def test_head_is_answered_as_get_without_a_body(client: httpx.AsyncClient) -> None:
    asked, told = await client.head(f"{V1}/middleware"), await client.get(f"{V1}/middleware")
    assert (asked.status_code, asked.content) == (200, b"")
    assert asked.headers["content-length"] == str(len(told.content))
