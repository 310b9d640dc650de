"""SARIF 2.1.0: failed cases as results and clauses as rules, for code scanning and editors."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from conformance.clauses import Clause
from conformance.report.document import Report
from conformance.verdicts.exchanges import Exchange
from conformance.verdicts.result import CaseResult, FailedCheck

_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS: Final = {"must": "error", "should": "warning"}


def sarif_log(report: Report, clauses: Mapping[str, Clause]) -> dict[str, Any]:
    """Build the document: one run with a result for each failed case."""
    bad = [case for case in report.cases if case.is_bad]
    rules = list(dict.fromkeys(name for case in bad for name in _rules_of(case)))
    at = {name: index for index, name in enumerate(rules)}
    named = {case.test_id: case for case in bad}
    run = {
        "tool": {
            "driver": {
                "name": "ojs-conformance",
                "rules": [_rule(name, clauses.get(name), named) for name in rules],
            }
        },
        "invocations": [
            {"executionSuccessful": not report.interrupted, "startTimeUtc": report.run_at}
        ],
        "properties": {
            "target": report.target,
            "backend": report.backend,
            "mode": report.mode,
        },
        "results": [_result(case, at, clauses) for case in bad],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rules_of(case: CaseResult) -> tuple[str, ...]:
    # A published case cites no clause of this spec, and is a rule of its own.
    return case.clauses or (case.test_id,)


def _rule(name: str, clause: Clause | None, cases: Mapping[str, CaseResult]) -> dict[str, Any]:
    if clause is None:
        case = cases.get(name)
        text = (case.name if case else "") or name
        description = f"{text} ({case.spec_ref})" if case and case.spec_ref else text
        return {"id": name, "shortDescription": {"text": description}}
    first, dot, _ = clause.summary.partition(". ")
    return {
        "id": name,
        "shortDescription": {"text": first + dot.strip()},
        "fullDescription": {"text": clause.summary},
        "defaultConfiguration": {"level": _LEVELS.get(clause.strength, "note")},
        "properties": {"tags": [clause.strength, clause.side, *clause.sources]},
    }


def _result(
    case: CaseResult, rules: Mapping[str, int], clauses: Mapping[str, Clause]
) -> dict[str, Any]:
    rule, *others = _rules_of(case)
    found: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": rules[rule],
        "level": _LEVELS[case.strength],
        "message": {"text": _message(case)},
        "locations": [_location(case.path, 1)],
        "partialFingerprints": {"case/v1": f"{case.suite}/{case.test_id}"},
        "properties": {
            "case": case.test_id,
            "verdict": str(case.verdict),
            "clauses": others,
            "published": case.published,
        },
    }
    related = [_clause_location(clauses[name]) for name in _rules_of(case) if name in clauses]
    if related:
        found["relatedLocations"] = related
    exchange = _exchange(case)
    if exchange is not None:
        found |= dict(_messages(exchange))
    return found


def _message(case: CaseResult) -> str:
    texts = (case.name or case.test_id, case.reason, *map(str, case.failures))
    return "\n".join(part for part in (*texts, *map(str, case.causes)) if part)


def _location(path: str, line: int) -> dict[str, Any]:
    where = f"file://{quote(path)}" if path.startswith("/") else quote(path)
    return {"physicalLocation": {"artifactLocation": {"uri": where}, "region": {"startLine": line}}}


def _clause_location(clause: Clause) -> dict[str, Any]:
    return {**_location(f"spec/{clause.file}", clause.line), "message": {"text": clause.id}}


def _exchange(case: CaseResult) -> Exchange | None:
    """Return the exchange that the first failure is about."""
    first: FailedCheck | None = next(iter(case.failures), None)
    at = first.exchange if first else None
    return case.exchanges[at] if at is not None and 0 <= at < len(case.exchanges) else None


def _messages(exchange: Exchange) -> Iterator[tuple[str, dict[str, Any]]]:
    request: dict[str, Any] = {
        "target": exchange.url,
        "method": exchange.method,
        "headers": exchange.request_headers,
    }
    if exchange.request_body:
        request["body"] = {"text": exchange.request_body}
    yield "webRequest", request
    if exchange.status is None:
        yield "webResponse", {"noResponseReceived": True}
        return
    answer: dict[str, Any] = {"statusCode": exchange.status, "headers": exchange.headers}
    if exchange.body:
        answer["body"] = {"text": exchange.body}
    yield "webResponse", answer
