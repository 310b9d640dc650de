"""Planted bugs: registered by name, each with what is wrong, and what the simulation has to do."""

import importlib
import pkgutil
import sys
from collections.abc import Callable
from typing import Final

import msgspec

Plant = Callable[[], None]


class Planted(msgspec.Struct, frozen=True):
    """A bug for the simulation to find; `plant` puts it into the calling process.

    `sees` names what should find it, `needs` what has to happen before it does harm, and `like` a
    commit that mended a bug of this kind or began to check for it, or the decision that it breaks.
    """

    name: str
    what: str
    sees: str
    needs: str
    like: str | None
    plant: Plant


_PLANTED: Final[dict[str, Planted]] = {}


def planted(*, sees: str, needs: str, like: str | None = None) -> Callable[[Plant], Plant]:
    """Register a function that plants a bug; its name and docstring are those of the bug."""

    def register(plant: Plant) -> Plant:
        name = plant.__name__.replace("_", "-")
        if name in _PLANTED or not plant.__doc__:
            raise ValueError(f"planted bug {name}: needs a name of its own and a docstring")
        what = " ".join(plant.__doc__.split())
        _PLANTED[name] = Planted(name, what, sees, needs, like, plant)
        return plant

    return register


def all_planted() -> list[Planted]:
    """Every planted bug, in the order of the files and then of writing."""
    package = importlib.import_module(__package__ or "")
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith(("test_", "__")):
            importlib.import_module(f"{package.__name__}.{module.name}")
    return list(_PLANTED.values())


def plant(name: str) -> None:
    """Plant one bug in this process."""
    known = {each.name: each for each in all_planted()}
    if name not in known:
        sys.exit(f"no planted bug is called {name!r}; there are: {', '.join(known)}")
    known[name].plant()
