"""Find all kinds of operations in the modules of `ops`."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Final

from ojs_server import ops
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
    for module in walk_packages(ops.__path__, f"{ops.__name__}."):
        import_module(module.name)
    for kind in dict.fromkeys(_below(Operation)):
        if kind.__module__.startswith(f"{ops.__name__}.") and not _is_base(kind):
            yield kind


# Operations that are not composed of others.
KINDS: Final = sorted((kind for kind in _kinds() if not issubclass(kind, Composite)), key=str)
