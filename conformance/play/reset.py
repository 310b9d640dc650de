"""Resets the server before a case, which the published cases silently assume."""

from collections.abc import Awaitable, Callable

import httpx

Reset = Callable[[], Awaitable[None]]


class ResetError(Exception):
    """The server could not be wiped, so the next case would judge leftovers."""


def http_reset(client: httpx.AsyncClient, where: str) -> Reset:
    """Return a reset that POSTs to a path of the server, or to another URL."""

    async def reset() -> None:
        try:
            answer = await client.post(where)
        except httpx.HTTPError as error:
            raise ResetError(f"POST {where}: {str(error) or type(error).__name__}") from error
        if not answer.is_success:
            raise ResetError(f"POST {where} answered {answer.status_code}; a 2xx is expected")

    return reset
