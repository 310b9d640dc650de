"""Finds assertions that contradict a case's own input, which no honest server can meet."""

from collections.abc import Iterable

import msgspec

from conformance.language import paths
from conformance.language.model import Case, Step
from conformance.language.template import has_reference
from conformance.language.values import show
from conformance.language.words import BadMatcher, word_predicate
from conformance.verdicts.result import FailedCheck


def contradictions(case: Case) -> dict[tuple[str, str], str]:
    """Return the (step id, body path) of each impossible assertion, with the reason.

    A history entry ``errors[N].type`` for a failure that the case itself reports can only repeat
    what was reported, so a literal that no step sends cannot be there.
    """
    sent = [_sent_text(step) for step in case.all_steps]
    found: dict[tuple[str, str], str] = {}
    reported = 0
    for step in case.setup.steps + case.steps:
        for path, expected in (step.assertions.body or {} if step.assertions else {}).items():
            entry = _history_entry(path)
            if entry is None or entry >= reported or not _is_literal(expected):
                continue
            if not any(show(expected)[1:-1] in text for text in sent):
                found[step.id, path] = f"{path} is to be {show(expected)}, which no step ever sends"
        reported += _reports_error(step)
    return found


def reasons_of(case: Case, failures: Iterable[FailedCheck]) -> list[str]:
    """Return the reason for each failure that no honest server can avoid."""
    impossible = contradictions(case)
    # A missing history entry is the server's own failure.
    return [
        impossible[failure.step_id, failure.field]
        for failure in failures
        if (failure.step_id, failure.field) in impossible and not failure.absent
    ]


def _history_entry(path: str) -> int | None:
    if has_reference(path):
        return None
    match paths.parse(path):
        case (*_, paths.Key("errors"), paths.Index(at), paths.Key("type")):
            return at
    return None


def _is_literal(expected: object) -> bool:
    if not isinstance(expected, str) or has_reference(expected):
        return False
    try:
        return expected != "" and word_predicate(expected) is None
    except BadMatcher:
        return False


def _reports_error(step: Step) -> bool:
    body = _body(step)
    return isinstance(body, dict) and isinstance(body.get("error"), dict)


def _body(step: Step) -> object:
    return msgspec.json.decode(step.body_json) if step.body_json else None


def _sent_text(step: Step) -> str:
    parts = [step.path or "", step.raw_body or "", *step.headers.values(), show(_body(step))]
    return "\n".join(parts)
