"""The check of answers against the contract reports whatever is not documented."""

import copy
from typing import Any

import httpx
import pytest

from tests.http.contract import Contract, Deviation, contract, document

JOB_ID = "01a1f0c0-0000-7000-8000-000000000001"
DELETED = {"deleted": True, "job_id": JOB_ID}
HEADERS = {
    "content-type": "application/openjobspec+json",
    "ojs-version": "1.0",
    "x-request-id": "req_1",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


def answer(
    body: Any = DELETED,
    status: int = 200,
    *,
    path: str = f"/ojs/v1/dead-letter/{JOB_ID}",
    method: str = "DELETE",
    headers: dict[str, str] | None = None,
    asked: dict[str, str] | None = None,
) -> httpx.Response:
    request = httpx.Request(method, f"http://ojs.test{path}", headers=asked)
    return httpx.Response(status, json=body, headers=HEADERS | (headers or {}), request=request)


def test_a_documented_answer_passes() -> None:
    contract().check(answer())
    alternative = {"content-type": 'application/openjobspec+json; alt="application/json"'}
    contract().check(answer(headers=alternative, asked={"OJS-Version": "1.0"}))
    plain = {"content-type": "application/json"}
    contract().check(answer(headers=plain, asked={"Accept": "application/json"}))


@pytest.mark.parametrize(
    ("response", "complaint"),
    [
        (answer(status=201), "the status is not documented"),
        (answer(method="PUT"), "the method is not documented"),
        (answer(path="/ojs/v1/nowhere"), "the path is not documented"),
        (answer(path="/ojs/v1/dead-letter/a/b"), "the path is not documented"),
        (answer(headers={"content-type": "text/html"}), "text/html is not documented"),
        (
            answer(headers={"content-type": "application/openjobspec+json; charset=utf-8"}),
            "Content-Type is application/openjobspec+json; charset=utf-8, not",
        ),
        (answer(asked={"OJS-Version": "1.0"}), "Content-Type is application/openjobspec+json, not"),
        (answer(headers={"ojs-version": "2.0"}), "the header OJS-Version"),
        (answer({}), "at /: 'deleted' is a required property"),
        (answer({**DELETED, "deleted": False}), "at /deleted: True was expected"),
        (answer({**DELETED, "job_id": "1"}), "at /job_id: '1' does not match"),
        (answer({**DELETED, "more": 1}), "at /: Additional properties are not allowed ('more'"),
        (answer([]), "at /: [] is not of type 'object'"),
    ],
)
def test_a_deviation_is_found_and_placed(response: httpx.Response, complaint: str) -> None:
    with pytest.raises(Deviation) as found:
        contract().check(response)
    assert complaint in str(found.value)


@pytest.mark.parametrize("name", ["ojs-version", "x-request-id"])
def test_a_missing_header_is_found(name: str) -> None:
    response = answer()
    del response.headers[name]
    with pytest.raises(Deviation, match=f"(?i)the header {name} is missing"):
        contract().check(response)


def test_an_error_must_have_a_code_of_its_status() -> None:
    error = {
        "code": "conflict",
        "type": "conflict",
        "message": "no",
        "retryable": False,
        "request_id": "req_1",
        "hint": "",
        "docs_url": "https://example.com",
    }
    with pytest.raises(Deviation, match="at /error/code: 'not_found' was expected"):
        contract().check(answer({"error": error}, 404))
    contract().check(answer({"error": {**error, "code": "not_found"}}, 404))


def test_an_answer_to_head_has_no_body() -> None:
    with pytest.raises(Deviation, match="no body"):
        contract().check(answer({}, path="/ojs/v1/health", method="HEAD"))


def test_an_answer_without_content_has_no_body() -> None:
    path = f"/ojs/v1/admin/dead-letter/{JOB_ID}"
    with pytest.raises(Deviation, match="this answer has no body"):
        contract().check(answer({}, 204, path=path))


def test_objects_that_are_declared_open_stay_open() -> None:
    job = copy.deepcopy(
        document()["components"]["responses"]["Enqueued"]["content"][HEADERS["content-type"]][
            "examples"
        ]["available"]["value"]
    )
    schema = "#/components/schemas/EnqueueAnswer"
    job["job"]["x_unknown"] = job["job"]["meta"]["x_unknown"] = 1
    contract().validate(schema, job)
    job["job"]["retry"]["x_unknown"] = 1
    with pytest.raises(Deviation, match="at /job/retry"):
        contract().validate(schema, job)


def test_a_fixed_path_is_found_before_a_pattern() -> None:
    judge = Contract(document())
    assert judge.path_of("/ojs/v1/jobs/batch") == "/ojs/v1/jobs/batch"
    assert judge.path_of("/ojs/v1/jobs/other") == "/ojs/v1/jobs/{id}"
    assert judge.path_of("/ojs/v1/jobs/") is None
