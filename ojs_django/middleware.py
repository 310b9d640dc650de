"""Middleware of Django."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from ojs_django.request_context import context_of
from ojs_worker.request_context import during

Respond = Callable[[HttpRequest], HttpResponseBase]
RespondInLoop = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def context(get_response: Respond | RespondInLoop) -> Respond | RespondInLoop:
    """Store the context of each request in the jobs that it enqueues. It stands behind the
    middleware of sessions, locales and authentication."""
    if iscoroutinefunction(get_response):
        in_loop = cast(RespondInLoop, get_response)

        async def respond_in_loop(request: HttpRequest) -> HttpResponseBase:
            with during(partial(context_of, request)):
                return await in_loop(request)

        return respond_in_loop
    blocking = cast(Respond, get_response)

    def respond(request: HttpRequest) -> HttpResponseBase:
        with during(partial(context_of, request)):
            return blocking(request)

    return respond
