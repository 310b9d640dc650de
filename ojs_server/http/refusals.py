"""Whole answers to requests that cannot be given to the application."""

from random import getrandbits

from ojs_server.connection.framing import status_line
from ojs_server.domain.errors import OjsError
from ojs_server.environment import wall_ms
from ojs_server.http import responses
from ojs_server.http.call import Answer, RequestIds
from ojs_server.http.dialects import OPENJOBSPEC
from ojs_server.http.errors import answer_of
from ojs_wire.codec import encode


def refusal(error: OjsError, status: int | None = None) -> bytes:
    """Return the head and body of an error after which the connection closes, with the status of
    the error unless one is given."""
    request_id = RequestIds(getrandbits, wall_ms)()
    answer = answer_of(error, request_id)
    body = encode(answer.body)
    ends = Answer(answer.body, answer.status, {**answer.headers, "Connection": "close"})
    head = responses.lines(request_id, ends, OPENJOBSPEC, f"content-length: {len(body)}\r\n")
    return status_line(status or answer.status) + head + b"\r\n" + body
