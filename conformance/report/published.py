"""The JSON report in the form of the published runner, version 1.1, which adds to 1.0."""

import platform
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from conformance.report.document import Report, totals
from conformance.verdicts.exchanges import Exchange
from conformance.verdicts.result import CaseResult, Verdict

_STATUS = {
    Verdict.PASS: "pass",
    Verdict.FAIL: "fail",
    Verdict.ERROR: "error",
    Verdict.SKIPPED: "skip",
    # The published form has no defective or disputed cases, and a failure would blame the server.
    Verdict.DEFECTIVE: "skip",
    Verdict.DISPUTED: "skip",
}
# The published form uses Go's names of architectures.
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def published_report(
    report: Report,
    results: Sequence[CaseResult],
    *,
    requested_level: int = -1,
    commit: str = "",
) -> dict[str, Any]:
    """Build the document; what is empty there is left out, as published.

    It can be signed and submitted to a log of such reports, which lists the backend by its name.
    """
    cases = [_case(result) for result in sorted(results, key=lambda each: each.test_id)]
    levels = sorted({result.level for result in results if result.level is not None})
    found = {
        "test_suite_version": "1.0",
        "target": report.target,
        "run_at": report.run_at,
        "duration_ms": report.duration_ms,
        "requested_level": requested_level,
        "results": {
            **_counts(results),
            "by_level": {
                str(level): _level([result for result in results if result.level == level])
                for level in levels
            },
        },
        "conformant": report.conformant,
        "conformant_level": report.conformant_level,
        "failures": [case for case in cases if case["status"] in ("fail", "error")],
        "skipped": [case for case in cases if case["status"] == "skip"],
        "report_schema_version": "1.1.0",
        "commit": {"sha": commit} if commit else {},
        "environment": {
            "os": platform.system().lower(),
            "arch": _ARCHITECTURES.get(platform.machine().lower(), platform.machine().lower()),
        },
        "backend": _backend(report),
    }
    return {name: value for name, value in found.items() if value not in ([], {})}


def _backend(report: Report) -> dict[str, str]:
    stated = {key: report.implementation.get(key) for key in ("name", "version")}
    known = {key: value for key, value in stated.items() if isinstance(value, str) and value}
    return {"name": "", **known, "url": report.target}


def _level(results: Sequence[CaseResult]) -> dict[str, Any]:
    counts = _counts(results)
    return {**counts, "all_pass": not counts["failed"] and not counts["errored"]}


def _counts(results: Sequence[CaseResult]) -> dict[str, int]:
    counts = totals(results)
    return {
        "total": counts.total,
        "passed": counts.passed,
        "failed": counts.failed,
        "skipped": counts.skipped + counts.defective + counts.disputed,
        "errored": counts.errored,
    }


def _case(result: CaseResult) -> dict[str, Any]:
    failures = [
        {
            "step_id": failure.step_id,
            "field": failure.field,
            "expected": failure.expected,
            "actual": failure.actual,
            "message": str(failure),
        }
        for failure in result.failures
    ]
    if result.reason and not failures:
        failures = [
            {"step_id": "", "field": "", "expected": "", "actual": "", "message": result.reason}
        ]
    return {
        "test_id": result.test_id,
        "name": result.name,
        "level": result.level if result.level is not None else 0,
        "category": result.category,
        "spec_ref": result.spec_ref,
        "status": _STATUS[result.verdict],
        "duration_ms": result.duration_ms,
        "failures": failures,
        "step_results": [_step(exchange) for exchange in result.exchanges],
        "file_path": result.path,
    }


def _step(exchange: Exchange) -> dict[str, Any]:
    try:
        body: Any = msgspec.json.decode(exchange.body) if exchange.body else None
    except (msgspec.DecodeError, RecursionError):
        body = exchange.body
    return {
        "step_id": f"{exchange.method} {exchange.url}",
        "status_code": exchange.status or 0,
        "headers": {name: [value] for name, value in exchange.headers.items()},
        "body": body,
        "duration_ms": exchange.duration_ms,
    }
