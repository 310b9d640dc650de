"""Refuses cases that cannot be judged: unclear steps, and checks that check nothing."""

from collections import Counter
from collections.abc import Callable, Iterator

from conformance.language import paths
from conformance.language.match import Matcher, compile_matcher, status_matcher
from conformance.language.model import (
    ANSWER_CHECKS,
    CROSS_STEP_CHECKS,
    Assertions,
    Case,
    ExclusiveClaim,
    Problem,
    Step,
    level_number,
)
from conformance.language.nearest import nearest
from conformance.language.order import loose_parallel_steps
from conformance.language.template import has_reference, referred_steps
from conformance.language.words import BadMatcher

VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
ACTIONS = (*VERBS, "WAIT", "ASSERT")
_BODY_OPERATORS = ("$or", "$empty")


def faults_of(case: Case) -> tuple[Problem, ...]:
    """Return why a case cannot be judged, in plain words; nothing when it can."""
    return tuple(_case_faults(case))


def _case_faults(case: Case) -> Iterator[Problem]:
    if level_number(case.level) is None:
        yield Problem(f"level {case.level!r} is neither a number nor 'ext'", ("level",))
    for number, (at, step) in enumerate(case.placed_steps, start=1):
        place = f"step {step.id!r}" if step.id else f"step number {number}"
        for problem in _step_problems(step):
            yield Problem(f"{place}: {problem}", at)
    places = {step.id: at for at, step in case.placed_steps}
    for name, count in Counter(step.id for step in case.all_steps).items():
        if name and count > 1:
            yield Problem(f"step id {name!r} is used {count} times", places[name])
    for above, section in ((("setup",), case.setup), ((), case), (("teardown",), case.teardown)):
        for problem in loose_parallel_steps(section.steps):
            yield Problem(problem, (*above, "steps"))
    yield from _order_faults(case)
    if not any(step.assertions and _given_checks(step.assertions) for step in case.steps):
        yield Problem("the case checks nothing: no step has an assertion")


def _order_faults(case: Case) -> Iterator[Problem]:
    """Return a message for each step that uses the answer of a step that has not run yet."""
    waiting = {step.id for step in case.all_steps}
    for at, step in case.placed_steps:
        for name in referred_steps(f"{step.path or ''} {step.body_json}"):
            if name in waiting:
                which = "itself" if name == step.id else f"step {name!r}, which comes later"
                yield Problem(f"step {step.id!r}: its request refers to {which}", at)
        waiting.discard(step.id)


def _step_problems(step: Step) -> Iterator[str]:
    if not step.id:
        yield "it has no id"
    elif "." in step.id:
        yield "an id may not contain a dot"
    if step.action not in ACTIONS:
        yield f"unknown action {step.action!r} ({nearest(step.action, ACTIONS)})"
    elif step.action in VERBS and step.path is None:
        yield f"{step.action} needs a path"
    elif step.action == "WAIT" and not (step.duration_ms or step.delay_ms):
        yield "WAIT needs duration_ms or delay_ms"
    checks = set(_given_checks(step.assertions)) if step.assertions else set()
    unseen = checks & set(ANSWER_CHECKS) if step.action == "ASSERT" else checks
    if step.action in ("WAIT", "ASSERT") and unseen:
        yield f"{step.action} has no answer, so it cannot check {', '.join(sorted(unseen))}"
    if step.action == "ASSERT" and not checks & set(CROSS_STEP_CHECKS):
        yield f"ASSERT checks nothing: it needs {' or '.join(CROSS_STEP_CHECKS)}"
    if step.action in VERBS and step.assertions is not None and not checks:
        yield "its assertions check nothing"
    if step.assertions:
        yield from _assertion_problems(step.assertions)
    for path in step.all_captures.values():
        yield from _path_problems(path)


def _given_checks(assertions: Assertions) -> list[str]:
    return [
        name for name in ANSWER_CHECKS + CROSS_STEP_CHECKS if getattr(assertions, name) is not None
    ]


def _assertion_problems(assertions: Assertions) -> Iterator[str]:
    if assertions.body_raw is not None:
        yield "body_raw is reserved in the format and has no meaning yet"
    # An empty `body` still requires a JSON object; the other empty checks accept any answer.
    for name in _given_checks(assertions):
        if name not in ("body", "status") and getattr(assertions, name) in ([], {}):
            yield f"{name} is empty and checks nothing"
    timing = assertions.timing_ms
    if timing and (timing.less_than, timing.greater_than, timing.approximate) == (None,) * 3:
        yield "timing_ms needs less_than, greater_than or approximate"
    if "" in (assertions.body_contains or ()):
        yield "body_contains with an empty text checks nothing"
    if assertions.exclusive_claim:
        yield from _exclusive_claim_problems(assertions.exclusive_claim)
    yield from _matcher_problems(assertions.status, status_matcher)
    yield from _body_problems(assertions.body or {})
    for path in assertions.body_absent or ():
        yield from _path_problems(path)
    for name, expected in (assertions.headers or {}).items():
        if isinstance(expected, dict):
            yield from _matcher_problems(expected)
        elif not isinstance(expected, str):
            yield f"header {name!r} takes a text or an operator, not {expected!r}"


def _exclusive_claim_problems(claim: ExclusiveClaim) -> Iterator[str]:
    if len(claim.fetches) < 2:
        yield "exclusive_claim compares at least two fetches"
    if not (claim.exactly_one_has_job or claim.exactly_one_empty):
        yield "exclusive_claim needs exactly_one_has_job or exactly_one_empty"


def _body_problems(body: dict[str, object]) -> Iterator[str]:
    for path, matcher in body.items():
        if path == "$or":
            if not isinstance(matcher, list) or not all(isinstance(m, dict) for m in matcher):
                yield "$or takes an array of objects of path and matcher"
                continue
            if not matcher:
                yield "$or without alternatives can never hold"
            if {} in matcher:
                yield "$or with an empty alternative checks nothing"
            for alternative in matcher:
                yield from _body_problems(alternative)
        elif path == "$empty":
            yield from _matcher_problems({path: matcher})
        elif path.startswith("$") and not path.startswith(("$.", "$[")) and path != "$":
            yield f"unknown body operator {path!r} ({nearest(path, _BODY_OPERATORS)})"
        else:
            yield from _path_problems(path)
            yield from _matcher_problems(matcher)


def _path_problems(path: str) -> Iterator[str]:
    try:
        if not has_reference(path):
            paths.parse(path)
    except paths.BadPath as error:
        yield str(error)


def _matcher_problems(
    matcher: object, compiler: Callable[[object], Matcher] = compile_matcher
) -> Iterator[str]:
    try:
        compiler(matcher)
    except BadMatcher as error:
        if not has_reference(str(matcher)):
            yield str(error)
