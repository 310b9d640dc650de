"""Rules by which a case has the played server misbehave instead of answering honestly."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from conformance.played.calls import Kind
from conformance.played.record import WorkerRequest


class Odd(msgspec.Struct, frozen=True, kw_only=True):
    """One deviation from the honest answer. Without `carry_out` the call has no effect."""

    status: int | None = None
    code: str = "unavailable"
    headers: dict[str, str] = {}
    raw: bytes | None = None
    breaks: bool = False  # the connection is reset
    carry_out: bool = False  # the call takes effect nevertheless
    after: asyncio.Event | None = None
    members: dict[str, Any] = {}  # set in the honest answer; None removes a member


Rule = Callable[[WorkerRequest], Odd | None]


def refused(status: int, code: str = "unavailable", **headers: str) -> Odd:
    """An error; headers are keyword arguments, `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Odd(status=status, code=code, headers=named)


def reset() -> Odd:
    """The connection breaks, and the call has no effect."""
    return Odd(breaks=True)


def lost_answer() -> Odd:
    """The call takes effect, and its answer is lost."""
    return Odd(breaks=True, carry_out=True)


def garbage(raw: bytes = b"\x16\x03\x01 this is no HTTP\r\n\r\n") -> Odd:
    """Bytes that are no answer."""
    return Odd(raw=raw)


def held_until(event: asyncio.Event) -> Odd:
    """The honest answer, once something has happened."""
    return Odd(after=event, carry_out=True)


def answer_with(**members: Any) -> Odd:
    """The honest answer with other members."""
    return Odd(members=members, carry_out=True)


class Script:
    """The departures in force, by kind of call; the newest one counts."""

    def __init__(self) -> None:
        self._rules: list[tuple[frozenset[Kind], Rule]] = []

    def add(self, *kinds: Kind, do: Odd | Rule, times: int | None = None) -> Callable[[], None]:
        """Deviate from the honest answer in these calls, a number of times or until the returned
        end."""
        left = times

        def rule(request: WorkerRequest) -> Odd | None:
            nonlocal left
            if left == 0:
                return None
            odd = do if isinstance(do, Odd) else do(request)
            if odd is not None and left is not None:
                left -= 1
            return odd

        entry = (frozenset(kinds), rule)
        self._rules.append(entry)
        return lambda: self._rules.remove(entry)

    def odd(self, request: WorkerRequest) -> Odd | None:
        """Return the departure from the honest answer that a rule asks for, or None."""
        for kinds, rule in reversed(self._rules):
            if request.kind in kinds and (found := rule(request)) is not None:
                return found
        return None
