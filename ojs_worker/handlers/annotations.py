"""Type hints of functions and classes, and the types that JSON values become."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from msgspec import inspect as shapes

from ojs_worker import forms


def hints_of(target: Callable[..., Any], what: str) -> dict[str, Any]:
    """Return the hints of a function, or of the fields or the constructor of a class; raises
    `TypeError` if they cannot be read."""
    source: Any = target
    if isinstance(target, type):
        fields = dataclasses.is_dataclass(target) or hasattr(target, "__struct_fields__")
        source = target if fields else inspect.getattr_static(target, "__init__")
    try:
        return get_type_hints(source, include_extras=True)
    except (NameError, TypeError) as error:
        raise TypeError(
            f"{what}: its type hints cannot be read: {error}. They are needed when it runs, so "
            "they must not stand under TYPE_CHECKING"
        ) from None


def readable(hint: Any) -> Any:
    """Return a type if JSON values become values of it."""
    try:
        shape = shapes.type_info(hint)
    except TypeError:
        return None
    unknown = isinstance(shape, shapes.CustomType) and forms.form_of(shape.cls) is None
    return None if unknown or isinstance(shape, shapes.AnyType) else hint


def result_type_of(target: Callable[..., Any]) -> Any:
    """Return the type that the annotation of a function names for its result; None if it names none
    that JSON values become."""
    if not inspect.isroutine(target):
        return None
    hints = hints_of(target, getattr(target, "__qualname__", "the function"))
    return readable(hints.get("return", Any))
