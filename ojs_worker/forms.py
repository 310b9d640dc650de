"""Convert values of types that JSON and msgspec do not know, by one table that programs can extend.

Dataclasses, attrs classes, enums, UUIDs, decimals, dates and sets need no entry.
"""

from collections.abc import Callable
from pathlib import PurePath
from typing import Any, TypeVar

import msgspec

from ojs_worker.errors import UnexpectedAnswer

T = TypeVar("T")


class Form(msgspec.Struct, frozen=True):
    """Encoding and decoding of the values of a type and its subclasses."""

    write: Callable[[Any], Any]
    # Takes the type of the hint, and the value from JSON.
    read: Callable[[Any, Any], Any]


_forms: dict[type, Form] = {PurePath: Form(str, lambda kind, value: kind(value))}
# Models of other libraries with methods for this, such as pydantic's.
_MODEL = Form(lambda model: _dumped(model), lambda kind, value: kind.model_validate(value))


def add_form(kind: type[T], *, write: Callable[[T], Any], read: Callable[[Any], T]) -> None:
    """Register the conversion of a type for arguments and results.

    `write` makes a value that JSON can hold, and `read` makes the original of it.
    """
    _forms[kind] = Form(write, lambda _, value: read(value))


def form_of(kind: type) -> Form | None:
    """Return the form of a type; None if it has none."""
    own = next((_forms[base] for base in kind.__mro__ if base in _forms), None)
    return _MODEL if own is None and hasattr(kind, "model_validate") else own


def written(value: Any) -> Any:
    """Write a value that the encoder does not know."""
    if (form := form_of(type(value))) is None:
        raise _unknown(value)
    return form.write(value)


def read(kind: type, value: Any) -> Any:
    """Read a value of a type that the decoder does not know."""
    if (form := form_of(kind)) is None:
        raise NotImplementedError
    return form.read(kind, value)


def plain(value: Any) -> Any:
    """Return a value in the types of JSON."""
    return msgspec.to_builtins(value, enc_hook=written, str_keys=True)


def convert(value: Any, kind: type[T]) -> T:
    """Convert a JSON value to a type; raises `UnexpectedAnswer` if it does not fit."""
    try:
        return msgspec.convert(value, kind, dec_hook=read)
    except msgspec.ValidationError as error:
        named = getattr(kind, "__name__", kind)
        raise UnexpectedAnswer(f"the result is no {named}: {error}") from None


def _dumped(model: Any) -> Any:
    dump = getattr(model, "model_dump", None)
    if dump is None:
        raise _unknown(model)
    return dump(mode="json", by_alias=True)


def _unknown(value: Any) -> TypeError:
    return TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")


encode = msgspec.json.Encoder(enc_hook=written).encode
