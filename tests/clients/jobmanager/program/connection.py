"""The connection of a program to the server, as clients of the job manager want it."""

from typing import Any

import httpx
import socketio

try:
    # The published client wants its own form of a client of Socket.IO; ours takes any.
    from zndraw_socketio import wrap
except ImportError:
    wrap = None


class ApiManager:
    """The server's address, and how its errors are raised."""

    def __init__(self, url: str) -> None:
        self.base_url = url
        self.http = httpx.Client(timeout=60, trust_env=False)

    def get_headers(self) -> dict[str, str]:
        """Return no headers, as no key is needed."""
        return {}

    def raise_for_status(self, response: httpx.Response) -> None:
        """Raise the exception that the client's protocol asks for, if the answer is an error."""
        kinds = {404: KeyError, 401: PermissionError, 403: PermissionError, 409: ValueError}
        if response.status_code in kinds:
            raise kinds[response.status_code](response.text)
        response.raise_for_status()


def connect(url: str) -> tuple[ApiManager, Any]:
    """The program's own api object and client of Socket.IO."""
    tsio = socketio.Client()
    tsio.connect(url)
    return ApiManager(url), wrap(tsio) if wrap else tsio
