"""Answers to requests that have arrived only in part and do not go on."""

from random import getrandbits
from typing import Final

from ojs_server.domain.errors import OjsError, TooSlow, Unavailable
from ojs_server.environment import wall_ms
from ojs_server.http import responses
from ojs_server.http.call import Answer, RequestIds
from ojs_server.http.dialects import OPENJOBSPEC
from ojs_server.http.errors import answer_of
from ojs_server.http.server.framing import status_line
from ojs_wire import codes
from ojs_wire.codec import encode

_CLOSE: Final = {"Connection": "close"}


def stopping() -> OjsError:
    """Return the error for a request that is incomplete when the server stops."""
    return Unavailable(
        "the server is stopping, and the rest of the request has not come",
        code=codes.OVERLOADED,
        headers={"Retry-After": "1", **_CLOSE},
    )


def too_many_connections() -> OjsError:
    """Return the error for a connection above the limit."""
    return Unavailable(
        "the server has as many connections as it may have",
        code=codes.OVERLOADED,
        headers={"Retry-After": "1", **_CLOSE},
    )


def too_slow() -> OjsError:
    """Return the error for a client that has paused for too long."""
    return TooSlow(
        "the rest of the request did not come in time",
        hint="send the whole request again",
        headers=_CLOSE,
    )


def refusal(error: OjsError, status: int | None = None) -> bytes:
    """Return the whole answer to a request that cannot be given to the application."""
    request_id = RequestIds(getrandbits, wall_ms)()
    answer = answer_of(error, request_id)
    body = encode(answer.body)
    ends = Answer(answer.body, answer.status, {**answer.headers, **_CLOSE})
    head = responses.lines(request_id, ends, OPENJOBSPEC, f"content-length: {len(body)}\r\n")
    return status_line(status or answer.status) + head + b"\r\n" + body
