"""The results of a run as one document, from which every report is made."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from conformance.report.mending import Mending, mendings
from conformance.report.provenance import Provenance
from conformance.verdicts.features import backend_name
from conformance.verdicts.result import CaseResult, Verdict
from conformance.verdicts.strength import PROFILES, Profile

SCHEMA = "ojs-conformance/1"
WORKER_MODE = "worker"  # the judge plays the server, so requests are the worker's
ADAPTER_MODE = "adapter"  # the judge plays a worker, and tells a program what to do
# Verdicts that convict nobody, and are shown with what was exchanged.
_SHOWN = (Verdict.DEFECTIVE, Verdict.DISPUTED)
LEVEL_NAMES = {0: "Core", 1: "Reliable", 2: "Scheduled", 3: "Orchestration", 4: "Advanced"}


class Totals(msgspec.Struct, frozen=True):
    """Numbers of cases by verdict."""

    total: int
    passed: int
    failed: int
    errored: int
    skipped: int
    defective: int
    disputed: int = 0


class ProfileResult(msgspec.Struct, frozen=True):
    """Result of a profile: its must and should cases, and whether no must case failed."""

    must: Totals
    should: Totals
    conformant: bool


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON document of a run; nothing failed that must be means conformant."""

    schema: str = SCHEMA
    target: str
    implementation: dict[str, Any] = {}
    mode: str = "strict"
    selection: str = ""
    claims: str = ""  # claims of the manifest in one line; empty for workers and adapters
    provenance: Provenance | None = None
    run_at: str
    duration_ms: int
    results: Totals
    by_level: dict[str, Totals] = {}
    profiles: dict[str, ProfileResult] = {}
    mend: list[Mending] = []
    clauses: dict[str, Verdict] = {}
    interrupted: bool = False
    conformant: bool
    conformant_level: int = -1
    cases: list[CaseResult]

    @property
    def backend(self) -> str:
        """The name and version in the manifest; empty if it has none."""
        return backend_name(self.implementation)


class BadReport(Exception):
    """A file that is no report of this program."""


def build_report(
    results: Sequence[CaseResult],
    *,
    target: str,
    run_at: str,
    duration_ms: int,
    manifest: Mapping[str, Any] | None = None,
    mode: str = "strict",
    selection: str = "",
    claims: str = "",
    provenance: Provenance | None = None,
    interrupted: bool = False,
    whole: bool = False,
) -> Report:
    """Gather the results of one run; a whole report has every exchange."""
    ordered = sorted(results, key=lambda result: (result.suite, result.test_id, result.path))
    levels = sorted({result.level for result in ordered if result.level is not None})
    by_level = {
        str(level): totals([result for result in ordered if result.level == level])
        for level in levels
    }
    implementation = (manifest or {}).get("implementation")
    return Report(
        target=target,
        implementation=implementation if isinstance(implementation, dict) else {},
        mode=mode,
        selection=selection,
        claims=claims,
        provenance=provenance,
        run_at=run_at,
        duration_ms=duration_ms,
        results=totals(ordered),
        by_level=by_level,
        profiles={name: _profile_result(ordered, name) for name in PROFILES},
        mend=mendings(ordered),
        clauses=clause_verdicts(ordered),
        interrupted=interrupted,
        conformant=not interrupted and not any(result.spoils() for result in ordered),
        conformant_level=-1 if interrupted else _level(by_level),
        cases=[_lightened(result, whole=whole) for result in ordered],
    )


def _profile_result(results: Sequence[CaseResult], profile: Profile) -> ProfileResult:
    mine = [result.under(profile) for result in results if profile in ("full", result.profile)]
    return ProfileResult(
        must=totals([result for result in mine if result.strength == "must"]),
        should=totals([result for result in mine if result.strength == "should"]),
        conformant=not any(result.spoils() for result in mine),
    )


def moment(at: datetime) -> str:
    """Format a time for reports."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def totals(results: Sequence[CaseResult]) -> Totals:
    """Count the verdicts."""
    counts = Counter(result.verdict for result in results)
    return Totals(
        total=len(results),
        passed=counts[Verdict.PASS],
        failed=counts[Verdict.FAIL],
        errored=counts[Verdict.ERROR],
        skipped=counts[Verdict.SKIPPED],
        defective=counts[Verdict.DEFECTIVE],
        disputed=counts[Verdict.DISPUTED],
    )


def clause_verdicts(results: Iterable[CaseResult]) -> dict[str, Verdict]:
    """Return the worst verdict of the cases of each clause; a skip counts only if all skip."""
    order = (
        Verdict.SKIPPED,
        Verdict.PASS,
        Verdict.DEFECTIVE,
        Verdict.DISPUTED,
        Verdict.ERROR,
        Verdict.FAIL,
    )
    worst: dict[str, Verdict] = {}
    for result in results:
        for clause in result.clauses:
            known = worst.get(clause, result.verdict)
            worst[clause] = max(known, result.verdict, key=order.index)
    return dict(sorted(worst.items()))


def read_report(path: Path) -> Report:
    """Read a report that was written before."""
    try:
        report = msgspec.json.decode(path.read_bytes(), type=Report)
    except OSError as error:
        raise BadReport(f"cannot read {path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadReport(f"{path} is no report of ojs-conformance: {error}") from error
    if report.schema != SCHEMA:
        raise BadReport(f"{path} has the form {report.schema!r}; {SCHEMA!r} can be read")
    return report


def _lightened(result: CaseResult, *, whole: bool) -> CaseResult:
    failures = tuple(failure.shortened() for failure in result.failures)
    result = msgspec.structs.replace(result, failures=failures)
    # A passed case needs no evidence; thousands of exchanges would hide the relevant ones.
    if whole or result.is_bad or result.findings or result.verdict in _SHOWN:
        return result
    return msgspec.structs.replace(result, exchanges=())


def _level(by_level: Mapping[str, Totals]) -> int:
    """Return the highest level up to which no case failed, as the published runner counts."""
    reached = -1
    for level in LEVEL_NAMES:
        counts = by_level.get(str(level))
        if counts is None or counts.total == counts.skipped:
            continue
        if counts.failed or counts.errored:
            break
        reached = level
    return reached
