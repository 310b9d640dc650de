"""Headers and media types: the versions, names and dialects that clients speak."""

import re

import httpx
import pytest

from tests.http.steps import JOBS, V1, body, error_of, stored_jobs

OPENJOBSPEC = "application/openjobspec+json"
WITH_ALTERNATIVE = 'application/openjobspec+json; alt="application/json"'
JOB = b'{"type":"a","args":[]}'


ACCEPTS: list[tuple[dict[str, str], str]] = [
    ({}, OPENJOBSPEC),
    ({"Accept": "*/*"}, OPENJOBSPEC),
    ({"Accept": OPENJOBSPEC}, OPENJOBSPEC),
    ({"Accept": "text/html"}, OPENJOBSPEC),
    ({"Accept": "application/json"}, "application/json"),
    ({"Accept": "application/json, text/plain, */*"}, "application/json"),
    ({"Accept": f"{OPENJOBSPEC}, application/json"}, OPENJOBSPEC),
    ({"OJS-Version": "1.0"}, WITH_ALTERNATIVE),
    ({"OJS-Version": "1.0", "Accept": OPENJOBSPEC}, WITH_ALTERNATIVE),
    ({"OJS-Version": "1.0", "Accept": "application/json"}, "application/json"),
]


async def test_the_media_type_is_the_one_that_the_client_can_read(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for headers, wanted in ACCEPTS:
        with subtests.test(headers=headers, wanted=wanted):
            for path, status in ((f"{V1}/health", 200), ("/no/such/path", 404)):
                response = await client.get(path, headers=headers)
                assert response.status_code == status
                assert response.headers["content-type"] == wanted


TYPES: list[str | None] = [
    None,
    "",
    OPENJOBSPEC,
    "application/json",
    "application/json; charset=utf-8",
    "APPLICATION/JSON;charset=UTF-8",
    ' application/openjobspec+json ; alt="application/json"',
]


async def test_bodies_come_in_both_media_types(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for content_type in TYPES:
        with subtests.test(content_type=content_type):
            headers = {} if content_type is None else {"Content-Type": content_type}
            assert (await client.post(JOBS, content=JOB, headers=headers)).status_code == 201


OTHER_TYPES: list[str] = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/jsonx",
    "json",
    "application/json, text/plain",
    "x" * 5000,
]


async def test_other_media_types_are_refused(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for content_type in OTHER_TYPES:
        with subtests.test(content_type=content_type):
            headers = {"Content-Type": content_type}
            error = error_of(
                await client.post(JOBS, content=JOB, headers=headers), 400, "invalid_request"
            )
            assert error["details"]["header"] == "Content-Type"
            assert error["details"]["allowed"] == [OPENJOBSPEC, "application/json"]
            assert await stored_jobs(client) == 0


async def test_encoded_bodies_are_refused(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for encoding in ("gzip", "x-gzip", "br", "identity, gzip", "x" * 5000):
        with subtests.test(encoding=encoding):
            headers = {"Content-Encoding": encoding}
            error = error_of(
                await client.post(JOBS, content=JOB, headers=headers), 400, "invalid_request"
            )
            assert error["message"].startswith(f"Content-Encoding {encoding[:100]!r} ")
            assert error["details"] == {"header": "Content-Encoding", "allowed": ["identity"]}
            assert await stored_jobs(client) == 0
    for encoding in ("", "identity", " Identity "):
        with subtests.test(encoding=encoding):
            headers = {"Content-Encoding": encoding}
            assert (await client.post(JOBS, content=JOB, headers=headers)).status_code == 201
    assert (await client.get(JOBS, headers={"Content-Encoding": "gzip"})).status_code == 200


async def test_calls_without_a_body_do_not_mind_the_media_type(client: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "text/plain"}
    made = body(await client.post(JOBS, content=JOB))["id"]
    assert (await client.get(f"{JOBS}/{made}", headers=headers)).status_code == 200
    assert (await client.delete(f"{JOBS}/{made}", headers=headers)).status_code == 200


@pytest.mark.parametrize("version", ["1", "1.0", "1.0.0", "1.0.0-rc.1"])
async def test_the_versions_of_all_clients_are_taken(
    client: httpx.AsyncClient, version: str
) -> None:
    response = await client.post(JOBS, content=JOB, headers={"OJS-Version": version})
    assert response.status_code == 201
    assert response.headers["ojs-version"] == "1.0"


OTHER_VERSIONS: list[str] = ["", "2.0", "0.9", "1.1", "one", "1.0\xff", "9" * 5000]


async def test_other_versions_are_refused(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for version in OTHER_VERSIONS:
        with subtests.test(version=version):
            headers = [(b"ojs-version", version.encode("latin-1"))]
            for path in (JOBS, f"{JOBS}/batch"):
                error = error_of(
                    await client.post(path, content=JOB, headers=headers), 422, "unsupported"
                )
                assert error["details"] == {"header": "OJS-Version", "supported": ["1.0"]}
            error_of(await client.get("/ojs/manifest", headers=headers), 422, "unsupported")
            assert await stored_jobs(client) == 0


NAMES: list[str] = ["a", "0c7f3a52-5d1e-4f0a-9b1c-3f1f6f0e8a11", "x y", "r" * 128]


async def test_a_request_keeps_its_name(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for given in NAMES:
        with subtests.test(given=given):
            response = await client.get(f"{V1}/health", headers={"X-Request-Id": given})
            assert response.headers["x-request-id"] == given
            response = await client.get(f"{JOBS}/unknown", headers={"X-Request-Id": given})
            assert error_of(response, 404, "not_found")["request_id"] == given


UNFIT: list[str | None] = [None, "", "r" * 129, "é", "a\tb", "a\x00b"]


async def test_a_request_without_a_fit_name_gets_one(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for given in UNFIT:
        with subtests.test(given=given):
            headers = [] if given is None else [(b"x-request-id", given.encode("latin-1"))]
            names = [
                (await client.get(f"{V1}/health", headers=headers)).headers["x-request-id"]
                for _ in range(2)
            ]
            assert len(set(names)) == 2
            pattern = r"req_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
            assert all(re.fullmatch(pattern, name) for name in names)


async def test_head_is_get_without_a_body(client: httpx.AsyncClient) -> None:
    made = body(await client.post(JOBS, content=JOB))["id"]
    for path in (f"{JOBS}/{made}", f"{V1}/queues", "/ojs/manifest", "/metrics", f"{JOBS}/unknown"):
        got, headed = await client.get(path), await client.head(path)
        assert headed.status_code == got.status_code
        assert headed.content == b""
        assert headed.headers["content-type"] == got.headers["content-type"]


LACKING: list[tuple[str, str, list[str]]] = [
    ("PUT", JOBS, ["GET", "HEAD", "POST"]),
    ("OPTIONS", JOBS, ["GET", "HEAD", "POST"]),
    ("HEAD", f"{JOBS}/batch", ["POST"]),
    ("TRACE", f"{V1}/queues", ["GET", "HEAD", "POST"]),
    ("POST", f"{JOBS}/01a1f0c0-0000-7000-8000-000000000001", ["DELETE", "GET", "HEAD", "PATCH"]),
    ("GET", f"{V1}/workers/fetch", ["POST"]),
    ("PUT", f"{V1}/workers/worker-1", ["DELETE", "GET", "HEAD", "PATCH"]),
    ("POST", f"{V1}/health", ["GET", "HEAD"]),
    ("BREW" * 20, f"{V1}/health", ["GET", "HEAD"]),
]


async def test_a_method_that_a_path_lacks_is_refused(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for method, path, allowed in LACKING:
        with subtests.test(method=method, path=path, allowed=allowed):
            response = await client.request(method, path)
            assert response.headers["allow"] == ", ".join(allowed)
            assert response.status_code == 405
            if method != "HEAD":
                assert error_of(response, 405, "method_not_allowed")["details"] == {
                    "allowed": allowed
                }


UNKNOWN: list[str] = [
    "/ojs",
    "/ojs/v1",
    "/ojs/v2/jobs",
    f"{JOBS}/",
    f"/{JOBS}",
    "/OJS/V1/JOBS",
    f"{JOBS}/a/b/c",
    f"{JOBS}//result",
    "/ojs/v1/%00",
    "/ojs/v1/jobs%2Fbatch%2F",
    "/" + "a" * 60_000,
    "/ojs/v1/jobs/..%2f..%2fetc%2fpasswd",
]


async def test_an_unknown_path_is_not_found(
    client: httpx.AsyncClient, subtests: pytest.Subtests
) -> None:
    for path in UNKNOWN:
        with subtests.test(path=path):
            for method in ("GET", "POST", "DELETE", "OPTIONS"):
                error = error_of(await client.request(method, path), 404, "not_found")
                assert error["hint"] == "GET /ojs/manifest says what this server can do"
