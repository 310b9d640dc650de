"""Ways to plant a fault in a program: a wrapped function, or another value in its place.

What is to be wrapped must be there; a fault that plants nothing would be no fault.
"""

from collections.abc import Callable
from typing import Any


def wrap(owner: object, name: str, make: Callable[[Any], Any]) -> None:
    """Put what `make` makes of a function or value in its place."""
    setattr(owner, name, make(getattr(owner, name)))


def put(owner: object, name: str, value: object) -> None:
    """Put something else in the place of a function or value."""
    wrap(owner, name, lambda _: value)


def put_member(table: Any, name: str, value: object) -> None:
    """Put something else in the place of a member of a table that others hold."""
    if name not in table:
        raise KeyError(name)
    table[name] = value


def after(owner: object, name: str, change: Callable[..., Any]) -> None:
    """Change what a function returns; `change` is given the result and then the arguments."""

    def make(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **named: change(function(*args, **named), *args, **named)

    wrap(owner, name, make)
