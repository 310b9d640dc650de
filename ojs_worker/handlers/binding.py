"""Binding of a job's arguments to a handler's parameters, and back.

On the wire `args` is an array. One object alone in it names the parameters, as `enqueue` of a
handler writes it; anything else is taken by position. Where the one parameter of a handler is
itself an object, an array of one object is that object, unless its only member is the parameter.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

import msgspec
from msgspec import inspect as shapes

from ojs_worker import forms
from ojs_worker.context import JobContext, is_context
from ojs_worker.faults import BadArguments
from ojs_worker.handlers.annotations import hints_of, readable
from ojs_worker.handlers.dependencies import Dependency, Needs, need_of

_NAMED: Final = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
    inspect.Parameter.VAR_KEYWORD,
)
_OBJECTS: Final = (
    shapes.AnyType,
    shapes.DictType,
    shapes.StructType,
    shapes.DataclassType,
    shapes.TypedDictType,
    shapes.CustomType,
)


class _Parameter(msgspec.Struct, frozen=True):
    """One parameter of a handler; `shape` is None if it takes any value."""

    name: str
    required: bool
    shape: Any
    takes_object: bool
    keyword_only: bool


class Binding:
    """The parameters of one handler, without its context and dependencies."""

    def __init__(self, target: Callable[..., Any], what: str) -> None:
        self._what = what
        self.context_name: str | None = None
        self._context_place = 0
        self.needs: Needs = {}
        self._parameters: list[_Parameter] = []
        self._rest: str | None = None
        self._extra: str | None = None
        self._signature = inspect.signature(target)
        hints = hints_of(target, what)
        # The type of the result; None without an annotation that JSON can be converted to.
        self.result_type: Any = readable(hints.get("return", Any))
        kept: list[inspect.Parameter] = []
        for parameter in self._signature.parameters.values():
            hint = hints.get(parameter.name, Any)
            if self.context_name is None and is_context(parameter.name, hint):
                self.context_name = parameter.name
                # A keyword-only context is passed by name, not by position.
                by_place = parameter.kind is not inspect.Parameter.KEYWORD_ONLY and not self.needs
                self._context_place = len(kept) if by_place else sys.maxsize
                continue
            if isinstance(parameter.default, Dependency):
                self.needs[parameter.name] = need_of(parameter.default)
                continue
            if self.needs and parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                raise TypeError(
                    f"{what}: `{parameter.name}` stands behind a dependency; those come last, or "
                    "behind a `*`"
                )
            kept.append(parameter)
            self._take(parameter, hint)
        self._signature = self._signature.replace(parameters=kept)
        self._names = {parameter.name for parameter in self._parameters}
        # With `*args` or positional-only parameters, arguments cannot be passed by name.
        self._by_name = all(parameter.kind in _NAMED for parameter in kept)

    def bind(
        self, args: list[Any], context: JobContext | None = None
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional and keyword arguments to call the handler with."""
        positions: list[Any] = []
        names: dict[str, Any] = {}
        if len(args) == 1 and isinstance(args[0], dict) and self._is_by_name(args[0]):
            names = self._bind_names(args[0])
        else:
            positions = self._bind_positions(args)
        if self.context_name is not None:
            if self._context_place > len(positions):
                names[self.context_name] = context
            else:
                positions.insert(self._context_place, context)
        return positions, names

    def pack(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return the `args` of a job for this handler; raises `TypeError` as a direct call
        would."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._what}: {error}") from None
        if not self._by_name:
            return [*bound.args, *([bound.kwargs] if bound.kwargs else [])]
        named = dict(bound.arguments)
        if self._extra is not None:
            named |= named.pop(self._extra, {})
        return [named] if named else []

    def named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return all arguments by name, with the defaults of those that are not given."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        named = dict(bound.arguments)
        return named | named.pop(self._extra, {}) if self._extra is not None else named

    def _take(self, parameter: inspect.Parameter, hint: Any) -> None:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            self._rest = parameter.name
            return
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            self._extra = parameter.name
            return
        shape = shapes.AnyType() if hint is Any else _shape(hint, parameter.name, self._what)
        self._parameters.append(
            _Parameter(
                name=parameter.name,
                required=parameter.default is inspect.Parameter.empty,
                shape=None if isinstance(shape, shapes.AnyType) else hint,
                takes_object=_takes_object(shape),
                keyword_only=parameter.kind is inspect.Parameter.KEYWORD_ONLY,
            )
        )

    def _is_by_name(self, values: Mapping[str, Any]) -> bool:
        first = self._parameters[0] if self._parameters else None
        if first is None:
            return self._by_name
        if not self._by_name:
            return False
        if not first.takes_object:
            return True
        if len(self._parameters) == 1 and self._extra is None:
            return values.keys() == {first.name}
        return first.name in values and (self._extra is not None or values.keys() <= self._names)

    def _bind_names(self, values: Mapping[str, Any]) -> dict[str, Any]:
        if self._extra is None and not values.keys() <= self._names:
            name = next(iter(values.keys() - self._names))
            close = get_close_matches(name, self._names, n=1)
            hint = f'; did you mean "{close[0]}"?' if close else ""
            raise BadArguments(f"there is no argument `{name}`{hint}", name)
        bound = {
            parameter.name: _converted(parameter, values[parameter.name])
            for parameter in self._parameters
            if parameter.name in values
        }
        self._check_required(bound)
        if self._extra is not None:
            bound |= {name: value for name, value in values.items() if name not in self._names}
        return bound

    def _bind_positions(self, args: list[Any]) -> list[Any]:
        places = [parameter for parameter in self._parameters if not parameter.keyword_only]
        if len(args) > len(places) and self._rest is None:
            takes = f"at most {len(places)}" if places else "no"
            raise BadArguments(f"the job has {len(args)} arguments, the handler takes {takes}")
        bound = [
            _converted(parameter, value) for parameter, value in zip(places, args, strict=False)
        ]
        self._check_required([parameter.name for parameter in places[: len(args)]])
        return bound + args[len(places) :]

    def _check_required(self, names: Iterable[str]) -> None:
        for parameter in self._parameters:
            if parameter.required and parameter.name not in names:
                raise BadArguments(f"argument `{parameter.name}` is missing", parameter.name)


def _shape(hint: Any, name: str, what: str) -> shapes.Type:
    try:
        shape = shapes.type_info(hint)
    except TypeError as error:
        raise TypeError(f"{what}: parameter `{name}`: {error}") from None
    if isinstance(shape, shapes.CustomType) and forms.form_of(shape.cls) is None:
        raise TypeError(
            f"{what}: parameter `{name}` is a {shape.cls.__name__}, which no JSON value becomes; "
            "use a dataclass, a msgspec.Struct or a TypedDict, or `add_form`"
        )
    return shape


def _takes_object(shape: shapes.Type) -> bool:
    if isinstance(shape, shapes.UnionType):
        return any(_takes_object(member) for member in shape.types)
    return isinstance(shape, _OBJECTS)


def _converted(parameter: _Parameter, value: Any) -> Any:
    if parameter.shape is None:
        return value
    try:
        return msgspec.convert(value, parameter.shape, dec_hook=forms.read)
    except msgspec.ValidationError as error:
        raise BadArguments(f"argument `{parameter.name}`: {error}", parameter.name) from None
