"""The report of a run: lines for a terminal, a table in Markdown, and JSON."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from conformance.guarantees.records import Violation
from conformance.guarantees.run import RoundResult
from conformance.guarantees.totals import Totals
from conformance.guarantees.verdicts import RequirementVerdict, holds
from conformance.report.provenance import provenance_of

_MOST_VIOLATIONS: Final = 20
_WORDS: Final = {
    "kept": "kept",
    "convicted": "**claimed and broken**",
    "broken": "broken, not claimed",
    "unjudged": "not judged",
    "undeclared": "not declared",
}
# Characters of Markdown and HTML that texts of a backend could misuse.
_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]<>()#+!|~@&\n]")


def round_line(result: RoundResult) -> str:
    """Return the line shown as soon as a round has ended."""
    plan = result.plan
    broken = f", {result.violations} BROKEN" if result.violations else ""
    return (
        f"kill {plan.number} {plan.kind}, call {plan.at} {plan.moment}: {result.answers} answers,"
        f" works again after {result.back_s:.1f} s{broken}"
    )


def summary_lines(totals: Totals, verdicts: Sequence[RequirementVerdict]) -> Iterator[str]:
    """Yield the verdict on each requirement, the violations, and the counts."""
    yield ""
    for each in verdicts:
        claimed = "claimed" if each.claimed else "not claimed"
        counts = f"{each.kept} kept, {each.broken} broken after {each.kills} kills"
        yield f"{each.requirement} {each.text}: {each.verdict} ({claimed}; {each.note or counts})"
    for violation in totals.violations[:_MOST_VIOLATIONS]:
        yield f"  {_sentence(violation)}"
    if (more := len(totals.violations) - _MOST_VIOLATIONS) > 0:
        yield f"  and {more} more, in the JSON report"
    yield ""
    yield from _counts(totals)
    yield _conclusion(totals, verdicts)


def markdown(totals: Totals, verdicts: Sequence[RequirementVerdict]) -> str:
    """Return a table of the requirements, and the violations."""
    return "\n".join(_markdown(totals, verdicts)) + "\n"


def document(totals: Totals, verdicts: Sequence[RequirementVerdict]) -> bytes:
    """Return everything as JSON."""
    provenance = provenance_of((), seed=totals.setting.seed)
    made: dict[str, Any] = {
        "kind": "guarantees",
        "suite": provenance.version,
        "python": provenance.python,
        "system": provenance.system,
        "holds": holds(verdicts) and not totals.stopped,
        "claims": str(totals.claims),
        "requirements": verdicts,
        **msgspec.structs.asdict(totals),
    }
    return msgspec.json.format(msgspec.json.encode(made))


def _markdown(totals: Totals, verdicts: Sequence[RequirementVerdict]) -> Iterator[str]:
    yield f"## Guarantees: {_conclusion(totals, verdicts)}"
    yield ""
    yield f"`{shlex.join(totals.setting.command)}`".replace("\n", " ")
    yield ""
    yield "| | Requirement | Verdict | Kept | Broken | After kills |"
    yield "|---|---|---|---|---|---|"
    for each in verdicts:
        word = _WORDS[each.verdict] + (f" ({_plain(each.note)})" if each.note else "")
        counts = f"{each.kept} | {each.broken} | {each.kills}"
        yield f"| {each.requirement} | {each.text} (line {each.place}) | {word} | {counts} |"
    yield ""
    yield from (f"{_plain(line)}  " for line in _counts(totals))
    if totals.violations:
        yield ""
        yield "### Promises that were not kept"
        yield ""
        for violation in totals.violations[:_MOST_VIOLATIONS]:
            yield f"1. {_plain(_sentence(violation))}"
        if (more := len(totals.violations) - _MOST_VIOLATIONS) > 0:
            yield f"1. and {more} more, in the JSON report"


def _counts(totals: Totals) -> Iterator[str]:
    kills = ", ".join(f"{number} {kind}" for kind, number in totals.kills.items()) or "none"
    yield f"{totals.number} kills ({kills}), seed {totals.setting.seed}"
    yield f"{totals.jobs} jobs, {totals.answers} answers in the 200s"
    slowest = ", ".join(f"{kind} {took:.1f} s" for kind, took in totals.slowest_s.items())
    if slowest:
        yield f"longest time until it worked again: {slowest}"
    if totals.left:
        yield f"jobs that were still held, or waited for a retry, at the end: {totals.left}"
    if totals.restarts:
        yield f"started again {totals.restarts} times, since it had ended or did not recover"
    yield f"{totals.backend or 'the backend'}: {totals.claims}"


def _conclusion(totals: Totals, verdicts: Sequence[RequirementVerdict]) -> str:
    if totals.stopped:
        return f"not judged to the end: {totals.stopped}"
    if not holds(verdicts):
        return "it does not hold what it claims"
    if broken := [each.requirement for each in verdicts if each.verdict == "broken"]:
        return f"it does not claim, and does not hold, {', '.join(broken)}"
    return "it holds what it claims"


def _sentence(violation: Violation) -> str:
    when = f"kill {violation.kill} ({violation.kind})" if violation.kill else "without a kill"
    return (
        f"{' '.join(violation.requirements)}, {when}: job {violation.job}:"
        f" {violation.answered}; now: {violation.found}"
    )


def _plain(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\{found[0]}" if found[0] != "\n" else " ", text)
