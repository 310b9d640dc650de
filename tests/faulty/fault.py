"""Faults: registered by name, each with the clause that it breaks and what is wrong."""

import importlib
import pkgutil
import sys
from collections.abc import Callable
from typing import Final, Literal

import msgspec

Kind = Literal["servers", "workers"]
UNBROKEN: Final = "unbroken"
Plant = Callable[[], None]


class Fault(msgspec.Struct, frozen=True):
    """A fault with its clause; `plant` puts it into the calling process."""

    name: str
    clause: str
    how: str
    plant: Plant
    kind: Kind


_KINDS: Final[dict[str, Kind]] = {"servers": "servers", "workers": "workers"}
_FAULTS: Final[dict[str, Fault]] = {}


def fault(clause: str) -> Callable[[Plant], Plant]:
    """Register a function that plants a fault; its name and docstring are those of the fault."""

    def register(plant: Plant) -> Plant:
        name = plant.__name__.replace("_", "-")
        kind = _KINDS.get(plant.__module__.split(".")[-2])
        if name in _FAULTS or not plant.__doc__ or kind is None:
            raise ValueError(f"fault {name}: needs a name of its own, a docstring and its folder")
        how = " ".join(plant.__doc__.split())
        _FAULTS[name] = Fault(name, clause, how, plant, kind)
        return plant

    return register


def faults(kind: Kind) -> list[Fault]:
    """Every fault of servers, or of workers, in the order of the files and then of writing."""
    package = importlib.import_module(f"{__package__}.{kind}")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return [each for each in _FAULTS.values() if each.kind == kind]


def all_faults() -> list[Fault]:
    """Every fault, those of servers first."""
    return [*faults("servers"), *faults("workers")]


def plant(kind: Kind, name: str) -> None:
    """Plant one fault in this process; `unbroken` is none."""
    known = {each.name: each for each in faults(kind)}
    if name not in (UNBROKEN, *known):
        sys.exit(f"no fault of {kind} is called {name!r}")
    if name != UNBROKEN:
        known[name].plant()
