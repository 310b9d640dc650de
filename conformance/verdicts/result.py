"""The outcome of a case: six verdicts, each failed check with what was expected and what came."""

from enum import StrEnum
from typing import Literal

import msgspec

from conformance.verdicts.exchanges import Exchange, Finding

_WIDEST = 10_000


class Verdict(StrEnum):
    """The judge's verdict on a case."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"  # the case could not be judged: broken file, unreachable server
    SKIPPED = "skipped"
    DEFECTIVE = "defective"  # the case requires what its own input makes impossible
    DISPUTED = "disputed"  # the server keeps to one published source, and another disagrees


class FailedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One check that did not hold."""

    step_id: str
    field: str  # `status`, a body path as the case spells it, `header:<Name>`, `timing`, ...
    at: str = ""  # the place inside the value
    expected: str
    actual: str
    absent: bool = False  # True if there was no value to compare
    exchange: int | None = None  # number of the exchange

    def __str__(self) -> str:
        return (
            f"[{self.step_id}] {self.field}{self.at}: expected {self.expected}, got {self.actual}"
        )

    def shortened(self) -> "FailedCheck":
        """Return a copy with its long values cut to the size of a report."""
        short = {name: _short(getattr(self, name)) for name in ("expected", "actual")}
        return msgspec.structs.replace(self, **short)


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]} ... ({len(text)} characters)"


class SkipReason(StrEnum):
    """The reason why a case was not judged; there are no others."""

    NOT_SUPPORTED = "not supported by this backend"
    PRECONDITION = "precondition missing"
    DEPRECATED = "deprecated"


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A cause of the failure of a published case that is no fault of the server."""

    kind: Literal["not supported", "defective", "quirk"]
    name: str = ""  # name of the quirk
    why: str
    places: tuple[str, ...] = ()  # places in the case at which a quirk made the difference

    def __str__(self) -> str:
        label = f"{self.kind} {self.name}".rstrip()
        at = f" (at {'; '.join(self.places)})" if self.places else ""
        return f"{label}: {self.why}{at}"


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """One case after its run; results are told apart by path because published ids repeat."""

    path: str
    test_id: str
    name: str = ""
    suite: str = ""
    level: int | None = None
    category: str = ""
    spec_ref: str = ""
    clauses: tuple[str, ...] = ()
    strength: Literal["must", "should"] = "must"
    profile: Literal["published", "full"] = "published"
    published: tuple[str, ...] = ()  # ids and places of what the clauses say in published texts
    dispute: str = ""  # the clauses on which published sources disagree, with these sources
    verdict: Verdict
    skipped: SkipReason | None = None
    reason: str = ""
    failures: tuple[FailedCheck, ...] = ()
    causes: tuple[Cause, ...] = ()
    findings: tuple[Finding, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    duration_ms: int = 0

    @property
    def is_bad(self) -> bool:
        """True if the case failed or could not be judged."""
        return self.verdict in (Verdict.FAIL, Verdict.ERROR)

    def under(self, profile: Literal["published", "full"]) -> "CaseResult":
        """Return the result as a profile judges it: what published sources dispute, fails nobody
        under `published`, unless the server broke, which no source allows."""
        if profile == "full" or not self.dispute or self.verdict is not Verdict.FAIL:
            return self
        if any(map(self._is_server_error, self.failures)):
            return self
        reason = f"the published sources disagree: {self.dispute}"
        return msgspec.structs.replace(self, verdict=Verdict.DISPUTED, reason=reason)

    def _is_server_error(self, check: FailedCheck) -> bool:
        """True if a check of a status failed for a 500 or the like; 501 is a refusal."""
        at = check.exchange
        if check.field != "status" or at is None or at >= len(self.exchanges):
            return False
        status = self.exchanges[at].status or 0
        return status >= 500 and status != 501

    def spoils(self, fail_on: Literal["must", "should"] = "must") -> bool:
        """True if this result fails the run; a should case does only if `fail_on` is "should"."""
        return self.is_bad and (self.strength == "must" or fail_on == "should")
