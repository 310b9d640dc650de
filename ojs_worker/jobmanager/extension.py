"""Classes and functions as jobs: their category and name, their schema, and objects made of
payloads."""

import dataclasses
import inspect
from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar, Final, dataclass_transform, get_type_hints

import msgspec

from ojs_worker.handlers.binding import Binding

Json = dict[str, Any]


class Category(StrEnum):
    """The categories of jobs that a server allows by default; any text will do."""

    # It changes a scene.
    MODIFIER = "modifiers"
    # It selects a part of a scene.
    SELECTION = "selections"
    # It computes something about a scene.
    ANALYSIS = "analysis"


@dataclass_transform()
class Extension:
    """May be the base of classes that are jobs: their annotated fields are the parameters.

        class Rotate(Extension):
            category = "modifiers"
            angle: float = 90.0

            def run(self, scene): ...

    Any class with a method `run` will do; a dataclass and a `msgspec.Struct` stay what they are.
    """

    # The category of the job: one of `Category`, or another that the server allows; modifiers if
    # there is none.
    category: ClassVar[Any] = None

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(cls)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Do the job, with the arguments that the program passes."""
        raise NotImplementedError


class FunctionCall:
    """A function that is a job, with the arguments of one task. What stands before its `/` is the
    program's own."""

    def __init__(self, target: Callable[..., Any], arguments: msgspec.Struct) -> None:
        self.arguments: Final = msgspec.structs.asdict(arguments)
        self._target = target

    def run(self, *own: Any) -> Any:
        """Call the function."""
        return self._target(*own, **self.arguments)


class Registered:
    """A job that this program has registered."""

    def __init__(
        self, target: Any, *, category: str | None = None, name: str | None = None
    ) -> None:
        if not callable(target):
            raise TypeError(f"{target!r} is neither a class nor a function")
        own = category if category is not None else getattr(target, "category", None)
        self.category: Final = None if own is None else str(getattr(own, "value", own))
        self.name: Final = name or str(target.__name__)
        self._function = None if inspect.isclass(target) else target
        made = _with_fields(target) if inspect.isclass(target) else _arguments(target)
        self._make: Callable[..., Any] = made
        self._binding = Binding(made, f"the job {self.name}")
        self.schema: Final = _schema(made if self._function else _arguments(made))

    def build(self, payload: Json) -> Any:
        """Return the object of a task, ready to be `run`; raises `BadArguments` with the name of
        the wrong field."""
        positions, names = self._binding.bind([payload] if payload else [])
        made = self._make(*positions, **names)
        return made if self._function is None else FunctionCall(self._function, made)


def payload_of(extension: Any) -> Json:
    """Return the payload from which an object like this one is made."""
    payload: Json = msgspec.to_builtins(
        {field: getattr(extension, field) for field in _fields(type(extension))}
    )
    return payload


def _with_fields(target: type) -> type:
    if not callable(getattr(target, "run", None)):
        raise TypeError(f"the class {target.__name__} needs a method `run`")
    if dataclasses.is_dataclass(target) or hasattr(target, "__struct_fields__"):
        return target
    return target if "__init__" in vars(target) else dataclasses.dataclass(target)


def _fields(target: type) -> list[str]:
    names: tuple[str, ...] | None = getattr(target, "__struct_fields__", None)
    return list(names) if names is not None else list(inspect.signature(target).parameters)


def _arguments(target: Callable[..., Any]) -> type[msgspec.Struct]:
    """Return a record of the parameters of a function or class, without positional-only ones."""
    hints = _hints(target)
    fields = [
        (parameter.name, hints.get(parameter.name, Any), *_default(parameter))
        for parameter in inspect.signature(target).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    return msgspec.defstruct(target.__name__, fields, kw_only=True)


def _default(parameter: inspect.Parameter) -> tuple[Any, ...]:
    if parameter.default is parameter.empty:
        return ()
    value = parameter.default
    if value is None or isinstance(value, str | int | float):
        return (value,)
    return (msgspec.field(default_factory=lambda: value),)


def _schema(record: type[msgspec.Struct]) -> Json:
    """Return the JSON Schema of a record."""
    _, parts = msgspec.json.schema_components([record])
    own: Json = parts.pop(record.__name__)
    return {**own, "$defs": parts} if parts else own


def _hints(target: Callable[..., Any]) -> Json:
    fields = dataclasses.is_dataclass(target) or hasattr(target, "__struct_fields__")
    source: Any = target
    if inspect.isclass(target) and not fields:
        source = inspect.getattr_static(target, "__init__")
    return get_type_hints(source, include_extras=True)
