"""The one place that turns errors into answers."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from ojs_server.domain.errors import OjsError
from ojs_server.http.call import Answer
from ojs_wire.codes import (
    CONFLICT,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    NOT_FOUND,
    PERMISSION_DENIED,
    QUEUE_FULL,
    TENANT_LIMIT_EXCEEDED,
    Code,
)

DOCS = "https://openjobspec.org/errors"
PROBLEMS = "/v1/problems"

log = logging.getLogger("ojs.http")


def answer_of(error: BaseException, request_id: str) -> Answer:
    """Return the answer for an error: its error object, with the status of its code."""
    code, body, headers = parts_of(error, request_id)
    return Answer({"error": body}, code.status, headers)


def problem_of(error: BaseException, request_id: str) -> Answer:
    """Answer an error as problem details (RFC 9457), for systems that use that form."""
    code, body, headers = parts_of(error, request_id)
    problem = {
        "type": f"{PROBLEMS}/{_problem_name(code, body.get('details') or {})}",
        "title": HTTPStatus(code.status).phrase,
        "status": code.status,
        "detail": body["message"],
        "instance": f"urn:ojs:request:{request_id}",
        "hint": body["hint"],
    }
    return Answer(problem, code.status, headers, media_type="application/problem+json")


def _problem_name(code: Code, details: Mapping[str, Any]) -> str:
    subject = details.get("resource_type")
    field = details.get("field")
    return _PROBLEMS.get((code, subject or field), code.name.lower()).replace("_", "-")


def error_object(error: BaseException, request_id: str) -> dict[str, Any]:
    """Return the error object for a part of a call, which has no status of its own."""
    return parts_of(error, request_id)[1]


def parts_of(
    error: BaseException, request_id: str
) -> tuple[Code, dict[str, Any], Mapping[str, str]]:
    """Return the code of an error, its error object, and the headers of its answer."""
    if isinstance(error, OjsError):
        code, message = error.answer_code, error.message
        details, hint, headers = error.details, error.hint, error.headers
    else:
        extra = {"request_id": request_id}
        log.error("request %s failed unexpectedly", request_id, exc_info=error, extra=extra)
        code, message = INTERNAL_ERROR, "the server failed; its log has the reason"
        details, hint, headers = None, None, {}
    body: dict[str, Any] = {
        "code": code.name,
        "type": code.type,
        "message": message,
        "retryable": code.retryable,
        "request_id": request_id,
        "hint": hint
        or _HINTS.get(code.status, "correct the request; sending it again will not help"),
        "docs_url": f"{DOCS}#{code.name}",
    }
    if details is not None:
        body["details"] = details
        if code in (QUEUE_FULL, TENANT_LIMIT_EXCEEDED):
            # The documents on backpressure and tenants have these members at the top level.
            body.update(details)
    return code, body, headers


def summary_of(error: OjsError) -> dict[str, Any]:
    """Return the error of one of many jobs, for use inside an answer."""
    code = error.answer_code
    summary = {
        "code": code.name,
        "type": code.type,
        "message": error.message,
        "retryable": code.retryable,
    }
    return summary if error.details is None else {**summary, "details": error.details}


# Names of problems, by error code and by the resource type or field in question.
_PROBLEMS = {
    (NOT_FOUND, "room_job"): "job-not-found",
    (NOT_FOUND, "worker"): "worker-not-found",
    (NOT_FOUND, "task"): "task-not-found",
    (NOT_FOUND, "provider"): "provider-not-found",
    (CONFLICT, "room_job"): "schema-conflict",
    (CONFLICT, "task"): "invalid-task-transition",
    (CONFLICT, "job"): "invalid-task-transition",
    (INVALID_REQUEST, "category"): "invalid-category",
    (INVALID_REQUEST, "room"): "invalid-room-id",
    (PERMISSION_DENIED, None): "forbidden",
}

_HINTS = {
    404: "check the path and the id; finished jobs are removed when their retention ends",
    408: "ask again; the job has not ended yet",
    409: "read the job to see its present state",
    429: "try again after the time in Retry-After",
    500: "quote the request_id when you report this",
    503: "try again after the time in Retry-After",
}
