"""The host names that requests may have, and the web pages that may send them.

A browser sends requests of any page to any address, the loopback included, and names the page
(`Origin`). It hides the answers from pages of other origins, unless the page's own host name was
made to resolve to this server (DNS rebinding); only the name in `Host` shows that.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from ojs_server.domain.errors import Denied
from ojs_wire.hosts import is_loopback

_HOST: Final = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\s:/?#@\[\]]+)(?::[0-9]*)?")
_ORIGIN: Final = re.compile(r"(?P<scheme>https?)://(?P<host>[^\s/?#@]+)")
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}
_LONGEST_QUOTED: Final = 100
# Browsers cache a preflight for two hours at most.
_PREFLIGHT_S: Final = 7200
PREFLIGHT_HEADERS: Final[Mapping[str, str]] = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    # The star stands for every name but Authorization.
    "Access-Control-Allow-Headers": "Authorization, *",
    "Access-Control-Max-Age": str(_PREFLIGHT_S),
}


class Origins(msgspec.Struct, frozen=True):
    """Admission by host and origin."""

    # Host names besides those of the loopback; None if any name is allowed.
    hosts: frozenset[str] | None
    # Origins whose pages may call, each with the CORS headers for its answers.
    listed: Mapping[str, str]

    def admit(self, headers: Mapping[bytes, bytes]) -> str:
        """Return the CORS headers for a page of a listed origin, else nothing; raises Denied if the
        host is not this server's or the page is foreign."""
        host = headers.get(b"host")
        if self.hosts is not None and host is not None and not _answers(self.hosts, host):
            raise Denied(
                f"this server does not go by the name {_quoted(host)}",
                hint="call it by a name of the loopback, or start it with --allow-host NAME",
            )
        origin = headers.get(b"origin")
        if origin is None:
            if _is_part_of_a_foreign_page(headers):
                raise _foreign("parts of pages of another origin may not come from here")
            return ""
        text = origin.decode("latin-1").lower()
        if (lines := self.listed.get(text)) is not None:
            return lines
        found = _ORIGIN.fullmatch(text)
        if found is None or host is None or found["host"] != host.decode("latin-1").lower():
            raise _foreign(f"pages of the origin {_quoted(origin)} may not call this server")
        return ""


def origins_of(hosts: tuple[str, ...] | None, listed: tuple[str, ...]) -> Origins:
    """Return the admission for these host names, and these origins of other servers."""
    return Origins(
        None if hosts is None else frozenset(hosts),
        {origin: _readable(origin) for origin in listed},
    )


def parse_host(text: str) -> str:
    """Return a host name or address in the form in which it is compared; raises ValueError."""
    name = text.strip().lower()
    found = _HOST.fullmatch(name)
    if found is None or found["name"] != name:
        raise ValueError(f"must be names or addresses without a port, not {text!r}")
    return name


def parse_origin(text: str) -> str:
    """Return an origin in the form that browsers send; raises ValueError."""
    given = text.strip().lower()
    found = _ORIGIN.fullmatch(given)
    if found is None or _HOST.fullmatch(found["host"]) is None:
        raise ValueError(f"must be origins such as https://jobs.example.com:8443, not {text!r}")
    return given.removesuffix(_DEFAULT_PORTS[found["scheme"]])


def is_preflight(method: str, headers: Mapping[bytes, bytes]) -> bool:
    """Return True if the request is a preflight of CORS."""
    return method == "OPTIONS" and b"access-control-request-method" in headers


# Small, because a Host header may be long and few different ones are expected.
@lru_cache(maxsize=16)
def _answers(hosts: frozenset[str], host: bytes) -> bool:
    found = _HOST.fullmatch(host.decode("latin-1").lower())
    return found is not None and (found["name"] in hosts or is_loopback(found["name"]))


def _is_part_of_a_foreign_page(headers: Mapping[bytes, bytes]) -> bool:
    """Return True for an image, a script or the like in a foreign page, with which no origin is
    sent. A link to another page, or a frame, does not count."""
    return (
        headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site")
        and headers.get(b"sec-fetch-mode") == b"no-cors"
    )


def _foreign(message: str) -> Denied:
    return Denied(message, hint="start the server with --cors-origin ORIGIN to let its pages call")


def _readable(origin: str) -> str:
    return (
        f"access-control-allow-origin: {origin}\r\n"
        "access-control-expose-headers: *\r\n"
        "vary: origin\r\n"
    )


def _quoted(text: bytes) -> str:
    return repr(text.decode("latin-1")[:_LONGEST_QUOTED])
