"""The context of a request, for the jobs that it enqueues."""

from collections.abc import Iterator
from typing import Any

from starlette.authentication import BaseUser
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from ojs_worker.request_context import (
    LOCALE,
    TENANT_ID,
    USER_ID,
    during,
    from_headers,
)


class RequestContext:
    """Middleware that stores the context of each request in the jobs that it enqueues.

    The user is that of Starlette's authentication. `request.state.tenant_id` and
    `request.state.locale` are set by the application, where it has them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the lifespan."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        with during(lambda: _members(HTTPConnection(scope))):
            await self._app(scope, receive, send)


def _identity(user: BaseUser) -> str:
    try:
        return user.identity
    except NotImplementedError:
        # As of Starlette's own users, which have a name alone.
        return user.display_name


def _members(request: HTTPConnection) -> Iterator[tuple[str, Any]]:
    yield from from_headers(request.headers)
    user = request.scope.get("user")
    if user is not None and user.is_authenticated:
        yield USER_ID, _identity(user)
    for name, member in (("tenant_id", TENANT_ID), ("locale", LOCALE)):
        value = getattr(request.state, name, None)
        if value is not None:
            yield member, str(value)
