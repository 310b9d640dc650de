"""JSON values as the case language sees them: absence, equality, kinds and text forms."""

from fractions import Fraction
from typing import Any, TypeGuard

import msgspec

EPSILON = 1e-9


class Missing(msgspec.Struct, frozen=True):
    """The absence of a value, with the reason in plain words."""

    why: str


def is_absent(value: object) -> bool:
    """Tell whether a value counts as not there: the format equates null with a missing key."""
    return value is None or isinstance(value, Missing)


def is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether a value is a JSON number; Python's bool is an int, JSON's is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(number: int | float) -> bool:
    return isinstance(number, int) or number.is_integer()


def kind(value: object) -> str:
    """Name the JSON type of a value, or ``nothing`` for a missing one."""
    if is_number(value):
        return "number"
    names = {str: "string", bool: "boolean", type(None): "null", list: "array", dict: "object"}
    return names.get(type(value), "nothing")


def same(left: object, right: object) -> bool:
    """Deep equality without coercion: ``1`` equals ``1.0`` but neither ``"1"`` nor ``true``."""
    if is_number(left) and is_number(right):
        # Fractions compare integers of any size with floats exactly.
        gap = abs(Fraction(left) - Fraction(right))
        return gap == 0 if _is_whole(left) and _is_whole(right) else gap <= EPSILON
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def text_form(value: Any) -> str:
    """Render a value for insertion into text: strings bare, whole numbers without decimals."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return show(value)


def show(value: object) -> str:
    """Render a value for a reader: JSON text, or the reason why there is none."""
    if isinstance(value, Missing):
        return f"nothing ({value.why})"
    return msgspec.json.encode(value).decode()
