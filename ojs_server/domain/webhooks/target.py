"""Targets of webhooks: parse their URLs, and tell public addresses from others.

Without these checks a user could make the server reach what only the server can reach: its own
machine, the network behind the firewall, the metadata service of a cloud.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

import msgspec

from ojs_server.domain.errors import invalid

MAX_URL: Final = 2048
# IPv4 addresses behind NAT64 gateways, which ipaddress takes for public.
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
# Not public either, although some versions of ipaddress say so: protocol assignments, relays,
# site-local addresses, local NAT64 gateways, documentation.
_SPECIAL: Final[tuple[IPv4Network | IPv6Network, ...]] = (
    *map(IPv4Network, ("192.0.0.0/24", "192.88.99.0/24")),
    *map(IPv6Network, ("fec0::/10", "64:ff9b:1::/48", "3fff::/20")),
)


class Reach(msgspec.Struct, frozen=True):
    """The operator's permissions: targets that are not public, and calls that are not encrypted."""

    private: bool = False
    plain: bool = False


class Target(msgspec.Struct, frozen=True):
    """A URL taken apart. `path` includes the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Return the value of the `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


_PORTS: Final = {"https": 443, "http": 80}


def parse_url(url: object, reach: Reach) -> Target:
    """Check a URL as far as it can be without asking the name service."""
    if not isinstance(url, str) or not 0 < len(url) <= MAX_URL:
        raise invalid("url", f"must be a URL of at most {MAX_URL} characters")
    if not (url.isascii() and url.isprintable()) or " " in url or "\\" in url:
        raise invalid("url", "must be a URL of printable ASCII characters, others escaped")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise invalid("url", "is not a valid URL, such as https://example.com/hook") from None
    _check_scheme(parts.scheme, reach)
    _check_parts(parts, host)
    assert host is not None
    if not reach.private and (is_local(host) or (_is_address(host) and not is_public(host))):
        raise invalid(
            "url",
            "names a private or local address; this server sends webhooks to public ones only",
        )
    path = parts.path or "/"
    return Target(
        scheme=parts.scheme,
        host=host,
        port=port or _PORTS[parts.scheme],
        path=f"{path}?{parts.query}" if parts.query else path,
    )


def is_local(host: str) -> bool:
    """True if a host name means this machine by definition."""
    return host.rstrip(".").lower().rpartition(".")[2] == "localhost"


def is_public(address: str) -> bool:
    """True if an address is public; an IPv4 address embedded in an IPv6 address counts alone."""
    found = ip_address(address.partition("%")[0])
    inner = _carried(found) if isinstance(found, IPv6Address) else None
    if inner is not None:
        return is_public(str(inner))
    if any(found in network for network in _SPECIAL):
        return False
    return found.is_global and not (found.is_multicast or found.is_reserved)


def _carried(address: IPv6Address) -> IPv4Address | None:
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    tunnel = address.teredo
    return address.ipv4_mapped or address.sixtofour or (tunnel and tunnel[1])


def _is_address(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _check_scheme(scheme: str, reach: Reach) -> None:
    allowed = ("https", "http") if reach.plain else ("https",)
    if scheme not in allowed:
        raise invalid("url", f"must begin with {' or '.join(f'{scheme}://' for scheme in allowed)}")


def _check_parts(parts: SplitResult, host: str | None) -> None:
    if not host:
        raise invalid("url", "has no host")
    if parts.username is not None or parts.password is not None:
        # They would be shown in every list of subscriptions.
        raise invalid("url", "must not hold a user or password; verify the signature instead")
    if parts.fragment:
        raise invalid("url", "must not have a fragment (#…); it would never be sent")
