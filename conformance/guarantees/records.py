"""Records of a run: calls as their clients saw them, kills, and promises that were not kept."""

from typing import Final, Literal, get_args

import msgspec

from conformance.guarantees.plan import Do, Kind

Requirement = Literal["DR-001", "DR-002", "DR-003", "DR-008", "DR-009"]
BY_KILLS: Final[tuple[Requirement, ...]] = get_args(Requirement)


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call as its client saw it; the times are those of the judge's steady clock."""

    do: Do
    worker: str = ""
    sent_s: float
    answered_s: float = 0.0
    status: int = 0  # 0: no whole answer

    @property
    def is_promise(self) -> bool:
        """True if the answer says that it was carried out."""
        return 200 <= self.status < 300


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A promise that was not kept."""

    requirements: tuple[Requirement, ...]
    kill: int  # the last one before it was found; 0: before the first
    kind: Kind
    job: str
    answered: str  # the promise, and its time
    found: str  # the state or the delivery that contradicts it


class Kill(msgspec.Struct, frozen=True):
    """A kill that was carried out."""

    number: int
    kind: Kind
    at_s: float
