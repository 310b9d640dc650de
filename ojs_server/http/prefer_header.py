"""The Prefer header: how long a client is ready to wait, and if it accepts an early or a short
answer.

Preferences that cannot be read are ignored, as RFC 7240 demands.
"""

import re
from collections.abc import Mapping
from math import ceil
from typing import Final

import msgspec

from ojs_server.http.call import Call

HEADER: Final = b"prefer"
APPLIED: Final = "Preference-Applied"
# Longer headers are cut here.
_MOST: Final = 1000
# An element of the header, with quoted strings.
_ELEMENT: Final = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")+')
_SECONDS: Final = re.compile(r"[0-9]+", re.ASCII)
# The longest wait that a client may name outside of the Prefer header.
MAX_TIMEOUT_S: Final = 1_000_000
# Larger than any wait that is granted; bounds the conversion.
_LONGEST_S: Final = 10**9


class Preference(msgspec.Struct, frozen=True):
    """The preferences of a request that the server may follow."""

    wait_s: int | None = None
    respond_async: bool = False
    minimal: bool = False

    def wait_ms(self, most_ms: int) -> int | None:
        """Return the wait in milliseconds that is granted; None if the client asks for none."""
        return None if self.wait_s is None else min(self.wait_s * 1000, most_ms)


def preference(call: Call) -> Preference:
    """Read the preferences of a request."""
    if HEADER not in call.fields:
        return Preference()
    lines = (value for name, value in call.scope["headers"] if name == HEADER)
    return parse(b",".join(lines).decode("latin-1"))


def waits_until(call: Call, started: float) -> float:
    """Return the moment of the stopwatch up to which the client of a request is ready to wait."""
    wait_ms = preference(call).wait_ms(call.server.settings.profile.max_wait_ms)
    return started + (wait_ms or 0) / 1000


def parse(text: str) -> Preference:
    """Read a Prefer header; if a preference is repeated, the first counts."""
    found: dict[str, str] = {}
    for element in _ELEMENT.findall(text[:_MOST]):
        name, _, value = element.partition(";")[0].partition("=")
        found.setdefault(name.strip().lower(), _unquoted(value.strip()))
    wait = found.get("wait", "")
    return Preference(
        wait_s=_seconds(wait) if _SECONDS.fullmatch(wait) else None,
        respond_async=found.get("respond-async") == "",
        minimal=found.get("return") == "minimal",
    )


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def _seconds(digits: str) -> int:
    return min(int(digits[:20]), _LONGEST_S)


def applied(
    wait_ms: int | None = None, *, respond_async: bool = False, minimal: bool = False
) -> Mapping[str, str]:
    """Return the header that names the preferences that were applied, with the granted wait."""
    named = ["respond-async"] if respond_async else []
    if minimal:
        named.append("return=minimal")
    if wait_ms is not None:
        named.append(f"wait={ceil(wait_ms / 1000)}")
    return {APPLIED: ", ".join(named)} if named else {}
