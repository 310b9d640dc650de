"""Validate arguments and results of jobs against JSON Schemas, within bounds.

A registered schema makes the server work for every job of its type. So no reference is fetched, and
a validation that takes too many steps is aborted.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import Any, Final

from jsonschema import Draft201909Validator, Draft202012Validator, exceptions, validators
from jsonschema.protocols import Validator
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import specification_with

from ojs_server.domain import regex
from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.fingerprint import canonical_text

# Most steps of a validation, which take a fraction of a second: one for each applied keyword, and
# one for each item of its value.
MAX_STEPS: Final = 10_000
MAX_VIOLATIONS: Final = 20
MAX_MESSAGE: Final = 300
# Ways to match a pattern that cost as much as one step.
_WAYS_A_STEP: Final = 2_000
_DRAFTS: Final = frozenset(
    {
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema",
    }
)
_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_BY_NAME: Final = frozenset({"patternProperties", "additionalProperties"})

Keyword = Callable[[Any, Any, Any, Any], Any]
Violation = Mapping[str, str]


class _TooMuch(Exception):
    """The validation takes too many steps."""


class _Steps:
    def __init__(self) -> None:
        self.left = MAX_STEPS

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise _TooMuch


_steps: ContextVar[_Steps] = ContextVar("steps")


class Compiled:
    """A schema compiled for validation."""

    def __init__(self, validator: Validator) -> None:
        self._validator = validator

    def violations(self, value: Any, field: str) -> list[Violation]:
        """Return the first few violations of a field's value; empty if it is valid."""
        try:
            return self.validated(value, field)
        except _TooMuch:
            message = f"cannot be validated within {MAX_STEPS} steps"
        except RecursionError:
            message = "cannot be validated: the schema refers to itself too often"
        return [{"path": field, "message": message, "keyword": "schema"}]

    def validated(self, value: Any, field: str) -> list[Violation]:
        """Return the violations; raise if the validation takes too many steps."""
        _steps.set(_Steps())
        errors = islice(self._validator.iter_errors(value), MAX_VIOLATIONS)
        return [_violation(error, field) for error in errors]


def compile_schema(document: dict[str, Any], field: str = "schema") -> Compiled:
    """Compile the schema in a field; raise with the reason if it is invalid."""
    kind = _kind(document, field)
    resource = Resource.from_contents(
        document, default_specification=specification_with(str(kind.META_SCHEMA["$schema"]))
    )
    resolver = Registry().resolver_with_root(resource)
    sound = {id(document)}
    for where, name, value in _members(document, field):
        if name in _REFERENCES and isinstance(value, str):
            target = _referred(f"{where}.{name}", value, resolver.lookup)
            if id(target) not in sound:
                _check_target(f"{where}.{name}", kind, target)
                sound.add(id(target))
        elif name == "$id" and where != field:
            raise _wrong(f"{where}.$id", "is allowed at the top only")
        elif name == "pattern" and isinstance(value, str):
            _check_pattern(f"{where}.pattern", value)
        elif name == "patternProperties" and isinstance(value, dict):
            for pattern in value:
                _check_pattern(f"{where}.patternProperties", pattern)
        elif name == "unevaluatedProperties" and _has_name_patterns(document):
            raise _wrong(f"{where}.{name}", "cannot be combined with patternProperties")
    compiled = Compiled(_bounded(kind)(document, registry=Registry()))
    try:
        compiled.validated([], field)
    except (_TooMuch, RecursionError):
        raise _wrong(field, "refers to itself without end") from None
    return compiled


def _kind(document: dict[str, Any], field: str) -> type[Validator]:
    """Return the JSON Schema draft that a schema names, else the newest that allows it.

    In older drafts `items` may be an array, as in the published cases.
    """
    named = document.get("$schema")
    if named is not None:
        known = isinstance(named, str) and named.rstrip("#") in _DRAFTS
        if not known:
            raise _wrong(f"{field}.$schema", "is not a supported draft of JSON Schema")
        kinds: tuple[type[Validator], ...] = (validators.validator_for(document),)
    else:
        kinds = (Draft202012Validator, Draft201909Validator)
    errors: list[exceptions.SchemaError] = []
    for kind in kinds:
        try:
            kind.check_schema(document)
        except exceptions.SchemaError as error:
            errors.append(error)
        except RecursionError:
            raise _wrong(field, "is nested too deep") from None
        else:
            return kind
    where = field + errors[0].json_path[1:]
    raise _wrong(where, f"is not a valid JSON Schema: {errors[0].message[:MAX_MESSAGE]}")


def _members(value: object, where: str) -> Iterator[tuple[str, str, Any]]:
    """Yield every member of every object in a value, with the path of its object."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield where, name, item
            yield from _members(item, f"{where}.{name}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _members(item, f"{where}[{place}]")


def _has_name_patterns(document: Mapping[str, Any]) -> bool:
    return any(name == "patternProperties" for _, name, _ in _members(document, ""))


def _referred(where: str, value: str, lookup: Callable[[str], Any]) -> object:
    if not value.startswith("#"):
        raise _wrong(where, "must begin with `#`: references outside the schema are not followed")
    try:
        found: object = lookup(value).contents
    except Unresolvable:
        raise _wrong(where, f"refers to nothing: {value[:100]!r}") from None
    return found


def _check_target(where: str, kind: type[Validator], target: Any) -> None:
    try:
        kind.check_schema(target)
    except exceptions.SchemaError as error:
        message = f"refers to an invalid JSON Schema: {error.message[:MAX_MESSAGE]}"
        raise _wrong(where, message) from None


def _check_pattern(where: str, pattern: str) -> None:
    if regex.is_boundless(pattern) or regex.choices(pattern) > 10:
        raise _wrong(
            where,
            f"holds {pattern[:100]!r}: repeated groups, back references, look-around and long "
            "rows of options are not allowed",
        )
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise _wrong(
            where, f"holds {pattern[:100]!r}, which is not a supported regular expression: {error}"
        ) from None


def _wrong(field: str, message: str) -> InvalidRequest:
    text = f"`{field[:200]}` {message}"
    return InvalidRequest(text, details={"field": field[:200], "schema_error": message})


def _violation(error: exceptions.ValidationError, field: str) -> Violation:
    return {
        "path": (field + error.json_path[1:])[:MAX_MESSAGE],
        "message": error.message[:MAX_MESSAGE],
        "keyword": str(error.validator),
    }


@cache
def _bounded(kind: type[Validator]) -> type[Validator]:
    """Return a draft whose keywords count their steps, without those of quadratic cost."""
    known: Mapping[str, Keyword] = {**kind.VALIDATORS, "uniqueItems": _unique_items}
    counted = {name: _counted(name, function) for name, function in known.items()}
    bounded: type[Validator] = validators.extend(kind, counted)  # type: ignore[no-untyped-call]
    return bounded


def _counted(name: str, function: Keyword) -> Keyword:
    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        steps = _steps.get()
        steps.take(1 + (len(value) if isinstance(value, list | dict) else 0))
        if name == "pattern" and isinstance(instance, str):
            steps.take(regex.ways(value, len(instance)) // _WAYS_A_STEP)
        elif name in _BY_NAME and isinstance(instance, dict):
            for pattern in schema.get("patternProperties", ()):
                steps.take(
                    sum(1 + regex.ways(pattern, len(key)) // _WAYS_A_STEP for key in instance)
                )
        return function(validator, value, instance, schema)

    return apply


def _unique_items(
    validator: Any, unique: bool, instance: object, schema: object
) -> Iterator[exceptions.ValidationError]:
    if unique and isinstance(instance, list):
        texts = {canonical_text(item) for item in instance}
        if len(texts) < len(instance):
            yield exceptions.ValidationError("has equal items")
