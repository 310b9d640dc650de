"""Output of a run over the faults: a line for each, and the result of the unbroken server."""

from collections.abc import Sequence

from conformance.verdicts.result import CaseResult
from tests.faulty.fault import Fault
from tests.faulty.judging import Finding, Found

_NAME = 40
_MOST = 400


def listed(faults: Sequence[Fault]) -> list[str]:
    """Return the table of faults: name, clause, description."""
    return [f"{fault.name:{_NAME}} {fault.clause}  {fault.how}" for fault in faults]


def row(finding: Finding) -> str:
    """Return the line of a fault: its clause, and the case that caught it or why none did."""
    fault = finding.fault
    line = f"{finding.found:7} {fault.name:{_NAME}} {fault.clause}"
    if finding.case:
        line += f"  {finding.case}"
    line += f"  {finding.seconds:.1f} s"
    if finding.found is Found.CAUGHT:
        return line
    return f"{line}\n        {fault.how}\n        {finding.why[:_MOST]}"


def unbroken_lines(wrong: Sequence[CaseResult], count: int) -> str:
    """Return the lines on the unbroken server: passed, or the cases it did not pass."""
    if not wrong:
        return f"unbroken: passes all {count} cases that were used"
    lines = [f"unbroken: does not pass {len(wrong)} of {count} cases that were used"]
    for result in wrong:
        why = result.reason or "; ".join(map(str, result.failures))
        lines.append(f"        {result.test_id}: {result.verdict}  {why[:_MOST]}")
    return "\n".join(lines)


def last_line(findings: Sequence[Finding]) -> str:
    """Return the line that counts the caught faults."""
    caught = sum(finding.found is Found.CAUGHT for finding in findings)
    return f"caught {caught} of {len(findings)}"
