"""Check of the keys that callers show, and refusal of those who show many wrong ones.

A right key is accepted at any time, also from an address that is being refused: others may share
it. So this does not prevent guessing; the length of keys does. It makes programs with an old key
pause, and shows operators that someone tries.
"""

import logging
from collections.abc import Callable

from ojs_server.domain.access.failed_attempts import Attempts
from ojs_server.domain.errors import Denied
from ojs_server.http.access.keys import unauthenticated
from ojs_server.observe.counted_warning import CountedWarning
from ojs_server.observe.metrics import Metrics
from ojs_server.settings import Settings
from ojs_wire import codes

log = logging.getLogger("ojs.access")


class KeyCheck:
    """The check of keys on every port of a node."""

    def __init__(
        self, settings: Settings, monotonic_ms: Callable[[], int], metrics: Metrics
    ) -> None:
        self._keys = settings.keys
        self._monotonic_ms = monotonic_ms
        self._metrics = metrics
        self._attempts = Attempts()
        self._warning = CountedWarning(log, "wrong keys were shown: %d, the last by %s")

    def prove(self, key: str, address: str) -> str:
        """Return the holder of a key; raises Denied if it is unknown."""
        principal = self._keys.principal_of(key)
        if principal is None:
            raise self._refuse(address)
        return principal

    def _refuse(self, address: str) -> Denied:
        wait_ms = self._attempts.fail(address, self._monotonic_ms())
        error = _slowed(wait_ms) if wait_ms else unauthenticated("the key is not known")
        self._metrics.observe_wrong_key(error.answer_code.status)
        self._warning.add(address or "an unknown address")
        return error


def _slowed(wait_ms: int) -> Denied:
    return Denied(
        "too many keys from this address were wrong; wait a moment",
        code=codes.RATE_LIMITED,
        headers={"Retry-After": str(wait_ms // 1000 + 1)},
        hint="use a key that the operator of this server has given you; a right one is accepted "
        "at any time",
    )
