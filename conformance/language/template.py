"""References to what earlier steps received: ``{{steps.a.response.body.x}}``, ``${name}``."""

import re
from collections.abc import Callable

import msgspec

from conformance.language import paths, wrapper
from conformance.language.values import Missing, is_absent, text_form
from conformance.language.wrapper import Unwrap

_PLACE = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}|\$\{\s*([^{}]+?)\s*\}")
_STEP = re.compile(r"steps\.(?P<step>[^.\[\]]+)\.response\.body(?P<path>[.\[].*)?")


class Unresolved(ValueError):
    """A reference to something that no earlier step received."""

    def __init__(self, reference: str, why: str) -> None:
        super().__init__(f"{reference}: {why}")
        self.reference = reference
        self.why = why


class Scope(msgspec.Struct):
    """Values of a running case: answers by step id, captured variables, names it may capture."""

    names: frozenset[str] = frozenset()
    bodies: dict[str, object] = {}
    variables: dict[str, object] = {}

    def capture(self, name: str, path: str, body: object, unwrap: Unwrap = "") -> None:
        """Remember a part of an answer; a part that is not there makes later uses unresolved."""
        self.variables[name] = wrapper.find(path, body, unwrap)


def has_reference(text: str) -> bool:
    """Tell whether a text contains anything that looks like a reference."""
    return _PLACE.search(text) is not None


def referred_steps(text: str) -> list[str]:
    """Name the steps whose answers a text refers to, in order."""
    places = (_STEP.fullmatch(place[1] or place[2]) for place in _PLACE.finditer(text))
    return [found["step"] for found in places if found]


def fill_text(text: str, scope: Scope) -> str:
    """Insert the referred values into a text, strings without quotes."""

    def insert(place: re.Match[str]) -> str:
        expression = place[1] or place[2]
        return text_form(look_up(expression, scope)) if _is_ours(expression, scope) else place[0]

    return _PLACE.sub(insert, text)


def fill_path(text: str, scope: Scope) -> str:
    """Fill a request path, in which a left-over reference can only be a mistake."""
    filled = fill_text(text, scope)
    for place in _PLACE.finditer(text):
        if not _is_ours(place[1] or place[2], scope):
            raise Unresolved(place[0], "no step captures a variable of that name")
    return filled


def fill_json(value: object, scope: Scope) -> object:
    """Fill a JSON value; a string that is nothing but one reference becomes the value itself."""
    return _fill(value, scope, lambda found: found)


def fill_matcher(value: object, scope: Scope) -> object:
    """Fill a matcher; an answer such as ``"any"`` is compared, never obeyed as a matcher."""
    return _fill(value, scope, lambda found: {"$eq": found})


def look_up(expression: str, scope: Scope) -> object:
    """Return what ``steps.<id>.response.body.<path>`` or a variable name stands for."""
    if not expression.startswith("steps."):
        found = scope.variables.get(expression, Missing("no earlier step captured it"))
    elif (parts := _STEP.fullmatch(expression)) is None:
        found = Missing("a reference has the form steps.<id>.response.body.<path>")
    else:
        body = scope.bodies.get(parts["step"], Missing(f"step {parts['step']!r} has no answer"))
        found = body if isinstance(body, Missing) else _part(body, parts["path"])
    if is_absent(found):
        raise Unresolved(expression, found.why if isinstance(found, Missing) else "it is null")
    return found


def _part(body: object, path: str | None) -> object:
    try:
        return paths.find(f"${path or ''}", body)
    except paths.BadPath as error:
        return Missing(str(error))


def _is_ours(expression: str, scope: Scope) -> bool:
    # Payloads may contain templates of their own ("Hello {{name}}"), so fill declared names only.
    return expression.startswith("steps.") or expression in scope.names


def _fill(value: object, scope: Scope, whole: Callable[[object], object]) -> object:
    if isinstance(value, dict):
        return {fill_text(name, scope): _fill(item, scope, whole) for name, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, scope, whole) for item in value]
    if not isinstance(value, str):
        return value
    place = _PLACE.fullmatch(value)
    if place is not None and _is_ours(place[1] or place[2], scope):
        return whole(look_up(place[1] or place[2], scope))
    return fill_text(value, scope)
