"""Translates the published dialects B and C into dialect A, so that one executor plays them all.

Dialect A has `assertions`. B has `expect` with dotted `body.` keys and `capture`. C has verbs of
the protocol with `request`, `expect` and `store`, and compares with the unwrapped job.
"""

import re
from collections.abc import Iterator
from typing import Any

from conformance.language.model import Place
from conformance.language.nearest import nearest

Record = dict[str, Any]

_REFERENCE = re.compile(r"\$ref\.([A-Za-z_][A-Za-z0-9_]*)")
_PLAIN_PATH = re.compile(r"[^.\[\]]+(\.[^.\[\]]+|\[\d+\]|\[\*\])*")
_VERBS: dict[str, tuple[str, str]] = {
    "push": ("POST", "/ojs/v1/jobs"),
    "get": ("GET", "/ojs/v1/jobs/{id}"),
    "fetch": ("POST", "/ojs/v1/workers/fetch"),
    "ack": ("POST", "/ojs/v1/workers/ack"),
}
_EXPECT_B = ("status", "status_in", "body", "headers", "body.<path>")
_EXPECT_C = ("status", "status_in", "body")


class BadDialect(ValueError):
    """A step that belongs to a dialect and cannot be read in it."""

    at: Place = ()  # place of the step


def dialect_of(case: Record) -> str:
    """Name the dialect of a raw case: any verb of the protocol makes C, any `expect` B."""
    steps = list(_steps(case))
    if any("request" in step or "store" in step or _is_verb(step) for step in steps):
        return "C"
    return "B" if any("expect" in step for step in steps) else "A"


def to_dialect_a(case: Record) -> Record:
    """Return the case in dialect A; a case that is in A already is returned as it is."""
    dialect = dialect_of(case)
    if dialect == "A":
        return case
    translate = _from_b if dialect == "B" else _from_c
    found = dict(case)
    numbers = iter(range(1, 1 + sum(1 for _ in _steps(case))))
    for name in ("setup", "teardown"):
        section = case.get(name)
        if isinstance(section, dict) and isinstance(section.get("steps"), list):
            found[name] = {**section, "steps": _each(section["steps"], translate, numbers, (name,))}
    if isinstance(case.get("steps"), list):
        found["steps"] = _each(case["steps"], translate, numbers, ())
    return found


def _each(steps: list[Any], translate: Any, numbers: Iterator[int], above: Place) -> list[Any]:
    found = []
    for index, step in enumerate(steps):
        try:
            found.append(translate(step, next(numbers)) if isinstance(step, dict) else step)
        except BadDialect as error:
            error.at = (*above, "steps", index)
            raise
    return found


def _steps(case: Record) -> Iterator[Record]:
    setup, teardown = case.get("setup"), case.get("teardown")
    for holder in (setup, case, teardown):
        steps = holder.get("steps") if isinstance(holder, dict) else None
        yield from (step for step in steps or () if isinstance(step, dict))


def _is_verb(step: Record) -> bool:
    action = step.get("action")
    return isinstance(action, str) and action.islower()


def _from_b(step: Record, number: int) -> Record:
    rest = {key: value for key, value in step.items() if key != "expect"}
    if "expect" not in step:
        return {**rest, "unwrap": "fallback"}
    place = f"step {step.get('id', number)!r}"
    if "assertions" in step:
        raise BadDialect(f"{place} has both `assertions` and `expect`")
    expect = _expectation(step["expect"], place)
    assertions: Record = {}
    body: Record = {}
    for key, expected in expect.items():
        if key in ("status", "status_in", "headers"):
            assertions[key] = expected
        elif key == "body" and isinstance(expected, dict):
            body |= {f"$.{path.removeprefix('$.')}": part for path, part in expected.items()}
        elif key.startswith("body."):
            body[f"$.{key.removeprefix('body.')}"] = expected
        else:
            raise BadDialect(f"{place}: unknown key {key!r} in expect ({nearest(key, _EXPECT_B)})")
    if body:
        assertions["body"] = body
    return {**rest, "assertions": assertions, "unwrap": "fallback"}


def _from_c(step: Record, number: int) -> Record:
    place = f"step {step.get('id', number)!r}"
    action = step.get("action")
    kept = {key: value for key, value in step.items() if key not in ("request", "expect", "store")}
    kept["id"] = step.get("id", f"step-{number}")
    if _is_verb(step):
        kept |= _request(str(action), _named(step.get("request", {})), place)
    elif "request" in step:
        raise BadDialect(f"{place}: `request` needs one of the verbs {', '.join(_VERBS)}")
    if "expect" in step:
        kept["assertions"] = _assertions_c(_named(_expectation(step["expect"], place)), place)
    if isinstance(step.get("store"), dict):
        kept["capture"] = {
            name: path if str(path).startswith("$") else f"$.{path}"
            for name, path in step["store"].items()
        }
    return {**kept, "unwrap": "job"}


def _request(verb: str, request: Any, place: str) -> Record:
    if verb not in _VERBS:
        raise BadDialect(f"{place}: unknown action {verb!r} ({nearest(verb, _VERBS)})")
    if not isinstance(request, dict):
        raise BadDialect(f"{place}: `request` is to be an object")
    method, path = _VERBS[verb]
    if verb in ("get", "ack") and "id" not in request:
        raise BadDialect(f"{place}: the request of {verb} needs an `id`")
    if verb == "get":
        return {"action": method, "path": path.replace("{id}", str(request["id"]))}
    if verb == "ack":
        request = {("job_id" if key == "id" else key): value for key, value in request.items()}
    return {"action": method, "path": path, "body": request}


def _assertions_c(expect: Record, place: str) -> Record:
    assertions: Record = {}
    for key, expected in expect.items():
        if key not in _EXPECT_C:
            raise BadDialect(f"{place}: unknown key {key!r} in expect ({nearest(key, _EXPECT_C)})")
        if key == "body" and isinstance(expected, dict):
            assertions["body"] = dict(_flat(expected, "$"))
        else:
            assertions[key] = expected
    return assertions


def _flat(partial: Record, above: str) -> Iterator[tuple[str, Any]]:
    # Each key may itself be a path, so that nested objects become one path each.
    for key, expected in partial.items():
        plain = _PLAIN_PATH.fullmatch(key) is not None
        path = f"{above}.{key}" if plain else f'{above}["{key}"]'
        operators = isinstance(expected, dict) and any(name.startswith("$") for name in expected)
        if (
            isinstance(expected, dict)
            and expected
            and not operators
            and expected.keys() != {"range"}
        ):
            yield from _flat(expected, path)
        else:
            yield path, expected


def _expectation(expect: Any, place: str) -> Record:
    if not isinstance(expect, dict):
        raise BadDialect(f"{place}: `expect` is to be an object")
    return expect


def _named(value: Any) -> Any:
    """Spell `$ref.name` as `${name}`, which the templates know."""
    if isinstance(value, str):
        return _REFERENCE.sub(r"${\1}", value)
    if isinstance(value, list):
        return [_named(item) for item in value]
    if isinstance(value, dict):
        return {key: _named(item) for key, item in value.items()}
    return value
