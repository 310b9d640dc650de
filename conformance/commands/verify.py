"""The command ``verify``: says whether a report is as it was signed, and what it covers."""

import textwrap
from pathlib import Path

from conformance.commands.arguments import FAILED, PASSED, Misuse, reports_at
from conformance.report.document import Report

WIDTH = 100


def verify_command(report: Path, key: Path) -> int:
    """Verify the signature of a report; one that does not hold is a failure."""
    try:
        from conformance.report import signing
    except ImportError as error:
        raise Misuse(str(error)) from error
    try:
        public = signing.public_key(key)
        content = report.read_bytes()
    except signing.BadKey as error:
        raise Misuse(str(error)) from error
    except OSError as error:
        raise Misuse(f"cannot read {report}: {error.strerror}") from error
    try:
        signing.verify(content, public)
    except signing.NotSigned as error:
        print(f"NOT VALID: {report}: {error}")
        return FAILED
    read = reports_at([report])[report]
    print(f"valid: {report} is as the holder of key {signing.fingerprint(public)[:16]} signed it")
    print("\n".join(_covered(read)))
    return PASSED


def _covered(report: Report) -> list[str]:
    """Return what the signature covers, in lines."""
    counts = report.results
    verdict = "conformant" if report.conformant else "not conformant"
    verdict = "interrupted" if report.interrupted else verdict
    facts = {
        "target": report.target,
        "backend": report.backend,
        "run at": report.run_at,
        "mode": report.mode,
        "only": report.selection,
        "judged by": str(report.provenance or ""),
        "cases": report.provenance.cases if report.provenance else "",
        "verdict": f"{verdict}: {counts.passed} of {counts.total} cases passed, "
        f"{counts.failed} failed, {counts.errored} were not judged, {counts.skipped} skipped",
    }
    return [
        textwrap.fill(value, WIDTH, initial_indent=f"  {label:10} ", subsequent_indent=" " * 13)
        for label, value in facts.items()
        if value
    ]
