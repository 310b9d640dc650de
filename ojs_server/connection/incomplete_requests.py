"""Errors of requests that have arrived only in part and do not go on."""

from typing import Final

from ojs_server.domain.errors import OjsError, TooSlow, Unavailable
from ojs_wire import codes

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
