"""Wrong keys by client address and in all, and the limits on them."""

from collections import OrderedDict
from ipaddress import IPv4Address, ip_address, ip_network

MOST = 10
MOST_IN_ALL = 1000
PER_MS = 60_000
ADDRESSES = 10_000
_NETWORK = 64


class Attempts:
    """Failed attempts by address; bounded: beyond the maximum the oldest address is forgotten."""

    def __init__(self) -> None:
        # The number of failures and the time of the first, by network; the oldest network first.
        self._failed: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._in_all = (0, 0)

    def fail(self, address: str, now: int) -> int:
        """Count an attempt that failed, and return how long the address must wait before the next
        one; 0 while there were few from there and in all."""
        network = network_of(address)
        count, since = mine = _counted(self._failed.get(network), now)
        if count == 1:
            self._failed.pop(network, None)
        self._failed[network] = mine
        if len(self._failed) > ADDRESSES:
            self._failed.popitem(last=False)
        in_all, all_since = self._in_all = _counted(self._in_all, now)
        return max(
            since + PER_MS - now if count > MOST else 0,
            all_since + PER_MS - now if in_all > MOST_IN_ALL else 0,
        )


def _counted(failed: tuple[int, int] | None, now: int) -> tuple[int, int]:
    """Count one more failure; a new period begins where the last one is over, or lies ahead of a
    clock that was set back."""
    if failed is None or not 0 <= now - failed[1] < PER_MS:
        return 1, now
    return failed[0] + 1, failed[1]


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
