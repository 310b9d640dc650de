"""Errors as clients of Camunda know them: problem details, with the titles that they compare."""

from collections.abc import Mapping
from typing import Final

from ojs_server.http.call import Answer, Call
from ojs_server.http.errors import parts_of
from ojs_server.http.path_forms import PathForm
from ojs_server.http.route import CAMUNDA_BASE
from ojs_server.systems.zeebe.not_served import not_served
from ojs_wire import codes
from ojs_wire.codes import Code

TITLES: Final[Mapping[int, str]] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    408: "DEADLINE_EXCEEDED",
    409: "INVALID_STATE",
    413: "MAX_MESSAGE_SIZE_EXCEEDED",
    422: "INVALID_ARGUMENT",
    # Back-pressure, by which clients wait and come again.
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL_ERROR",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
}
_BY_CODE: Final[Mapping[Code, str]] = {
    codes.DUPLICATE: "ALREADY_EXISTS",
    codes.OVERLOADED: "RESOURCE_EXHAUSTED",
}


def _problem_of(call: Call, error: BaseException) -> Answer:
    """Return the answer for an error of a call."""
    code, body, headers = parts_of(error, call.request_id)
    problem = {
        "type": "about:blank",
        "title": _BY_CODE.get(code) or TITLES[code.status],
        "status": code.status,
        "detail": body["message"],
        "instance": f"urn:ojs:request:{call.request_id}",
        "hint": body["hint"],
    }
    return Answer(problem, code.status, headers, media_type="application/problem+json")


FORM: Final = PathForm(CAMUNDA_BASE, _problem_of, not_served)
