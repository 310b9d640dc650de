"""The sessions that have not connected yet, within a bound."""

from itertools import takewhile
from typing import Final

from ojs_server.domain.access.failed_attempts import network_of

# An address may have one in this many of these sessions.
SHARE: Final = 4


class Unconnected:
    """Sessions that have not connected, the oldest first.

    At the bound the oldest makes room; if the address of the new one has its share already, the
    oldest from there does.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._share = max(1, most // SHARE)
        # Network and time by session, and sessions by network, in order.
        self._sessions: dict[str, tuple[str, float]] = {}
        self._of: dict[str, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def add(self, sid: str, address: str, now: float) -> str | None:
        """Add a session, and return the one that makes room for it, if any."""
        network = network_of(address)
        own = self._of.get(network, {})
        leaves = None
        if len(own) >= self._share:
            leaves = next(iter(own))
        elif len(self._sessions) >= self._most:
            leaves = next(iter(self._sessions))
        if leaves is not None:
            self.remove(leaves)
        self._sessions[sid] = network, now
        self._of.setdefault(network, {})[sid] = None
        return leaves

    def remove(self, sid: str) -> None:
        """Remove a session, if it is here."""
        network, _ = self._sessions.pop(sid, ("", 0.0))
        own = self._of.get(network)
        if own is not None:
            own.pop(sid, None)
            if not own:
                del self._of[network]

    def added_before(self, moment: float) -> list[str]:
        """Return the sessions that were added before a moment."""
        return [sid for sid, _ in takewhile(lambda row: row[1][1] < moment, self._sessions.items())]
