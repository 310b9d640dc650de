"""Send one HTTP POST to a checked address, with TLS verification."""

import ssl
from collections.abc import Mapping
from typing import Final, NamedTuple

import httpx

from ojs_server.domain.webhooks.delivery import NoAnswer

# Bytes read of an answer; then the connection is closed.
MAX_EXCERPT: Final = 4096
MAX_CALLS: Final = 1000


class Posted(NamedTuple):
    """The answer to a POST."""

    status: int
    retry_after: str | None
    excerpt: str


class Poster:
    """The connections of one node."""

    def __init__(self, ca: str | None) -> None:
        self._client = _client(ca)

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, certified: str
    ) -> Posted:
        """Call the address in a URL; its certificate must be that of the host `certified`."""
        sni = {"sni_hostname": certified}
        try:
            async with self._client.stream(
                "POST", url, headers=headers, content=body, extensions=sni
            ) as response:
                pause = response.headers.get("retry-after")
                return Posted(response.status_code, pause, await _beginning(response))
        except (httpx.HTTPError, httpx.InvalidURL) as failure:
            # Its text may repeat the URL, which may contain a token.
            raise NoAnswer(f"the call failed ({type(failure).__name__})") from None

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def trusted(ca: str | None) -> ssl.SSLContext:
    """Return the TLS context for targets: public authorities, and those in the file `ca`."""
    context = httpx.create_ssl_context(trust_env=False)
    if ca is not None:
        context.load_verify_locations(ca)
    return context


def _client(ca: str | None) -> httpx.AsyncClient:
    # No connection is kept: one verified for a host must not serve another host at the same
    # address. No proxy and no netrc: only the arguments count.
    return httpx.AsyncClient(
        verify=trusted(ca),
        trust_env=False,
        follow_redirects=False,
        timeout=None,
        limits=httpx.Limits(max_connections=MAX_CALLS, max_keepalive_connections=0),
    )


async def _beginning(response: httpx.Response) -> str:
    read = b""
    # Raw: a small compressed answer could unpack to gigabytes.
    async for chunk in response.aiter_raw(MAX_EXCERPT):
        read += chunk
        if len(read) >= MAX_EXCERPT:
            break
    return read[:MAX_EXCERPT].decode("utf-8", "replace")
