"""Holds an answer, or several earlier ones, against the assertions of a step; never stops early."""

from collections.abc import Callable, Iterator

import msgspec

from conformance.language import paths, wrapper
from conformance.language.match import Mismatch, match, status_matcher
from conformance.language.model import Assertions, ExclusiveClaim, Step, Timing
from conformance.language.template import (
    Scope,
    Unresolved,
    fill_json,
    fill_matcher,
    fill_text,
    look_up,
)
from conformance.language.values import Missing, same, show
from conformance.language.words import BadMatcher
from conformance.verdicts.result import FailedCheck

_APPROXIMATE_SHARE = 0.5
_APPROXIMATE_FLOOR_MS = 100

FieldMismatch = tuple[str, Mismatch]


class Answer(msgspec.Struct, frozen=True):
    """The answer to one request; header names are lower case."""

    status: int
    headers: dict[str, str]
    text: str
    json: object
    duration_ms: int
    unwrap: wrapper.Unwrap = ""
    exchange: int | None = None

    def find(self, path: str) -> object:
        """Return the value at a path of the body, or a Missing that says where the path ended."""
        return wrapper.find(path, self.json, self.unwrap)


def failed_checks(step: Step, answer: Answer | None, scope: Scope) -> list[FailedCheck]:
    """Return every check of the step that does not hold, in the order of the format."""
    if step.assertions is None:
        return []
    mismatches = [*_cross_step_mismatches(step.assertions, scope)]
    if answer is not None:
        mismatches = [*_answer_mismatches(step.assertions, answer, scope), *mismatches]
    return [
        FailedCheck(
            step_id=step.id,
            field=field,
            at=bad.at,
            expected=bad.expected,
            actual=bad.actual,
            absent=bad.absent,
            exchange=answer.exchange if answer else None,
        )
        for field, bad in mismatches
    ]


def _held(
    field: str, check: Callable[..., Mismatch | None], *arguments: object
) -> Iterator[FieldMismatch]:
    try:
        bad = check(*arguments)
    except Unresolved as error:
        bad = Mismatch("", f"a value for {error.reference}", f"nothing ({error.why})")
    except (paths.BadPath, BadMatcher) as error:
        bad = Mismatch("", "an assertion that can be read once it is filled in", str(error))
    if bad is not None:
        yield field, bad


def _answer_mismatches(
    expected: Assertions, answer: Answer, scope: Scope
) -> Iterator[FieldMismatch]:
    yield from _held("status", status_matcher(expected.status), answer.status)
    for codes in (expected.status_in, expected.status_one_of):
        yield from _held("status", status_matcher(codes), answer.status)
    yield from _body_mismatches(expected, answer, scope)
    for name, value in (expected.headers or {}).items():
        yield from _held(f"header:{name}", _header, name, value, answer, scope)
    if expected.timing_ms:
        yield from _timing_mismatches(expected.timing_ms, answer.duration_ms)
    for text in expected.body_contains or ():
        yield from _held("body_contains", _contained, text, answer, scope)


def _body_mismatches(expected: Assertions, answer: Answer, scope: Scope) -> Iterator[FieldMismatch]:
    body, absent = expected.body, expected.body_absent or []
    if _requires_object(body, absent) and not isinstance(answer.json, dict):
        yield "body", Mismatch("", "a JSON object", show(answer.json))
        absent = []
    yield from _entry_mismatches(body or {}, answer, scope)
    for path in absent:
        yield from _held(path, _entry, path, "absent", answer, scope)


def _requires_object(body: dict[str, object] | None, absent: list[str]) -> bool:
    # Otherwise an empty or array answer would meet every path assertion by having none.
    return bool(absent) or body == {} or any(not _is_operator(path) for path in body or ())


def _is_operator(path: str) -> bool:
    return path in ("$or", "$empty")


def _entry_mismatches(
    body: dict[str, object], answer: Answer, scope: Scope
) -> Iterator[FieldMismatch]:
    for path, matcher in body.items():
        if path == "$or":
            yield from _held(path, _any_alternative, matcher, answer, scope)
        elif path == "$empty":
            yield from _held(path, match, {path: matcher}, answer.text)
        elif isinstance(answer.json, dict):
            yield from _held(path, _entry, path, matcher, answer, scope)


def _entry(path: str, matcher: object, answer: Answer, scope: Scope) -> Mismatch | None:
    value = answer.find(fill_text(path, scope))
    return match(fill_matcher(matcher, scope), value)


def _any_alternative(
    alternatives: list[dict[str, object]], answer: Answer, scope: Scope
) -> Mismatch | None:
    for body in alternatives:
        if not any(_body_mismatches(Assertions(body=body), answer, scope)):
            return None
    return Mismatch("", f"one of {show(alternatives)}", show(answer.json))


def _header(name: str, expected: object, answer: Answer, scope: Scope) -> Mismatch | None:
    value = answer.headers.get(name.lower(), Missing("no such header"))
    if isinstance(expected, str):
        expected = {"$eq": fill_text(expected, scope)}
    return match(fill_matcher(expected, scope), value)


def _contained(text: str, answer: Answer, scope: Scope) -> Mismatch | None:
    filled = fill_text(text, scope)
    if filled in answer.text:
        return None
    return Mismatch("", f"a body containing {show(filled)}", show(answer.text))


def _timing_mismatches(timing: Timing, took: int) -> Iterator[FieldMismatch]:
    if timing.less_than is not None and took >= timing.less_than:
        yield "timing", Mismatch("", f"less than {timing.less_than:g} ms", f"{took} ms")
    if timing.greater_than is not None and took <= timing.greater_than:
        yield "timing", Mismatch("", f"more than {timing.greater_than:g} ms", f"{took} ms")
    if timing.approximate is not None:
        margin = max(timing.approximate * _APPROXIMATE_SHARE, _APPROXIMATE_FLOOR_MS)
        if abs(took - timing.approximate) > margin:
            expected = f"{timing.approximate:g} ms, give or take {margin:g} ms"
            yield "timing", Mismatch("", expected, f"{took} ms")


def _cross_step_mismatches(expected: Assertions, scope: Scope) -> Iterator[FieldMismatch]:
    if expected.exclusive_claim:
        yield from _held("exclusive_claim", _exclusive, expected.exclusive_claim, scope)
    for left, right in (expected.equality or {}).items():
        yield from _held(f"equality {left}", _equal, left, right, scope)


def _exclusive(claim: ExclusiveClaim, scope: Scope) -> Mismatch | None:
    job_id = _referred(claim.job_id, scope)
    fetches = [_referred(fetch, scope) for fetch in claim.fetches]
    for at, jobs in enumerate(fetches):
        if not isinstance(jobs, list):
            return Mismatch(f".fetches[{at}]", "an array of jobs", show(jobs))
    holders = sum(job_id in map(_job_id, jobs) for jobs in fetches if isinstance(jobs, list))
    idle = fetches.count([])
    if claim.exactly_one_has_job and holders != 1:
        return Mismatch("", f"exactly one fetch with job {show(job_id)}", f"{holders} of them")
    if claim.exactly_one_empty and idle != 1:
        return Mismatch("", "exactly one empty fetch", f"{idle} of them")
    return None


def _job_id(job: object) -> object:
    return job.get("id") if isinstance(job, dict) else job


def _equal(left: str, right: object, scope: Scope) -> Mismatch | None:
    first, second = _referred(left, scope), _referred(right, scope)
    return None if same(first, second) else Mismatch("", show(second), show(first))


def _referred(raw: object, scope: Scope) -> object:
    if isinstance(raw, str) and raw.startswith("$.steps."):
        return look_up(raw.removeprefix("$."), scope)
    return fill_json(raw, scope)
