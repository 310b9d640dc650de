"""Find all kinds of operations in the modules of `ops` and of the other systems."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Final

from ojs_server import ops, systems
from ojs_server.ops.operation import Composite, Operation

Kind = type[Operation[Any]]


def _below(kind: Kind) -> Iterator[Kind]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def _is_base(kind: Kind) -> bool:
    """Tell whether others are made of it: it is private, or its result is still open."""
    return kind.__name__.startswith("_") or bool(getattr(kind, "__parameters__", ()))


def _kinds() -> Iterator[Kind]:
    for package in (ops, systems):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    places = f"{ops.__name__}.", f"{systems.__name__}."
    for kind in dict.fromkeys(_below(Operation)):
        if kind.__module__.startswith(places) and not _is_base(kind):
            yield kind


# Operations that are not composed of others.
KINDS: Final = sorted((kind for kind in _kinds() if not issubclass(kind, Composite)), key=str)
