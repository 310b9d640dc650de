"""Failed login attempts by client address, and the limit on them."""

from collections import OrderedDict
from ipaddress import IPv4Address, ip_address, ip_network

MOST = 10
PER_MS = 60_000
ADDRESSES = 10_000
_NETWORK = 64


class Attempts:
    """Failed attempts by address; bounded: beyond the maximum the oldest address is forgotten."""

    def __init__(self) -> None:
        # How many have failed since when, the oldest first.
        self._failed: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def wait_ms(self, address: str, now: int) -> int:
        """Return how long an address must wait before its next attempt; 0 if it need not wait."""
        count, since = self._of(network_of(address), now)
        return since + PER_MS - now if count >= MOST else 0

    def fail(self, address: str, now: int) -> None:
        """Count an attempt that failed."""
        network = network_of(address)
        count, since = self._of(network, now)
        self._failed[network] = (count + 1, since)
        while len(self._failed) > ADDRESSES:
            self._failed.popitem(last=False)

    def _of(self, network: str, now: int) -> tuple[int, int]:
        count, since = self._failed.get(network, (0, now))
        if not 0 <= now - since < PER_MS:
            del self._failed[network]
            return 0, now
        return count, since


def network_of(address: str) -> str:
    """Return the key that an address counts under: itself, or its network for IPv6, where one host
    has many addresses."""
    try:
        known = ip_address(address)
    except ValueError:
        return address
    if isinstance(known, IPv4Address):
        return address
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(ip_network((int(known), _NETWORK), strict=False))
