"""The address of a client behind proxies, by the headers `Forwarded` and `X-Forwarded-For`.

Anybody can send these headers, and each proxy adds the address that it was called from at their
end. So they are read from the right, and only as far as the proxies are trusted.
"""

import re
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Network = IPv4Network | IPv6Network
_Address = IPv4Address | IPv6Address
# An address in these headers, with or without a port.
_NODE: Final = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9]+(?:\.[0-9]+){3}))(?::[0-9]{1,5})?", re.ASCII
)
_BARE_SIX: Final = re.compile(r"[0-9A-Fa-f:.]+", re.ASCII)
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PAIR: Final = rf'{_TOKEN}=(?:{_TOKEN}|"(?:[^"\\]|\\.)*")'
_PAIRS: Final = re.compile(rf"[ \t]*({_PAIR}(?:[ \t]*;[ \t]*{_PAIR})*)[ \t]*(,|$)")
_FOR: Final = re.compile(rf'({_TOKEN})=({_TOKEN}|"(?:[^"\\]|\\.)*")')
# Longer chains of proxies are not plausible.
MOST_HOPS: Final = 32


def client_address(
    peer: str, forwarded: Sequence[str], forwarded_for: Sequence[str], trusted: Sequence[Network]
) -> str:
    """Return the address of a client: the nearest one that is no trusted proxy.

    `peer` is the address of the connection, the others are the lines of the two headers in their
    order. Where an address is hidden or malformed, the proxy that sent it counts as the client; if
    the two headers disagree, so does the peer, since a client may have written one of them.
    """
    known = _address(peer) if trusted else None
    if known is None or not _is_in(known, trusted):
        return peer
    found = {
        _nearest(known, hops, trusted)
        for hops in (_standard(forwarded), _usual(forwarded_for))
        if hops
    }
    return str(found.pop() if len(found) == 1 else known)


def parse_network(text: str) -> Network:
    """Return a network of trusted proxies; raises ValueError."""
    network = ip_network(text.strip())
    if network.prefixlen == 0:
        raise ValueError(f"{text.strip()} holds every address, so that anybody could name any")
    return network


def _nearest(
    peer: _Address, hops: Sequence[_Address | None], trusted: Sequence[Network]
) -> _Address:
    last = peer
    for hop in reversed(hops[-MOST_HOPS:]):
        if hop is None:
            break
        last = hop
        if not _is_in(hop, trusted):
            break
    return last


def _standard(lines: Sequence[str]) -> list[_Address | None]:
    """Return the addresses of `Forwarded` (RFC 7239); None for each that is unknown."""
    return [hop for line in lines for hop in _elements(line)]


def _elements(line: str) -> Iterator[_Address | None]:
    place = 0
    while place < len(line):
        found = _PAIRS.match(line, place)
        if found is None:
            yield None
            return
        pairs = {name.lower(): value for name, value in _FOR.findall(found[1])}
        yield _node(_unquoted(pairs.get("for", "")))
        place = found.end()


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value


def _usual(lines: Sequence[str]) -> list[_Address | None]:
    """Return the addresses of `X-Forwarded-For`; None for each that is unknown."""
    return [_node(part.strip()) for line in lines for part in line.rsplit(",", MOST_HOPS)]


def _node(text: str) -> _Address | None:
    found = _NODE.fullmatch(text)
    if found is not None:
        return _address(found["six"] or found["four"])
    # Many proxies write IPv6 addresses without brackets.
    return _address(text) if _BARE_SIX.fullmatch(text) else None


def _address(text: str) -> _Address | None:
    try:
        known = ip_address(text)
    except ValueError:
        return None
    mapped = known.ipv4_mapped if isinstance(known, IPv6Address) else None
    return mapped or known


def _is_in(address: _Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)
