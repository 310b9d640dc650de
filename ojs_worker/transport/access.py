"""Authorisation of requests: a fixed key, or a function that is called before every request."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

Headers = Mapping[str, str]
# A key, or a function that returns the key or all headers, for tokens that expire.
Auth = str | Callable[[], str | Headers | Awaitable[str | Headers]]

BASE: Final[Headers] = {
    "Content-Type": "application/openjobspec+json",
    "Accept": "application/openjobspec+json",
    "OJS-Version": "1.0",
    "User-Agent": "ojs-worker-python",
}


def as_headers(auth: str | Headers) -> Headers:
    """Return headers; a key becomes a bearer token."""
    return {"Authorization": f"Bearer {auth}"} if isinstance(auth, str) else auth


class Access:
    """The headers of each request."""

    def __init__(self, auth: Auth | None = None, headers: Headers | None = None) -> None:
        self._fixed = {**BASE, **(headers or {})}
        self._make_auth = auth if callable(auth) else None
        if isinstance(auth, str):
            self._fixed.update(as_headers(auth))

    async def headers(self) -> Headers:
        """Return the headers of the next request."""
        if self._make_auth is None:
            return self._fixed
        answer = self._make_auth()
        if not isinstance(answer, str | Mapping):
            answer = await answer
        return {**self._fixed, **as_headers(answer)}

    def blocking_headers(self) -> Headers:
        """Return the headers of the next request without an event loop; raises TypeError if `auth`
        is a coroutine function."""
        if self._make_auth is None:
            return self._fixed
        answer = self._make_auth()
        if not isinstance(answer, str | Mapping):
            if inspect.iscoroutine(answer):
                answer.close()
            raise TypeError("a blocking client needs an `auth` that is no coroutine function")
        return {**self._fixed, **as_headers(answer)}
