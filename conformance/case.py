"""Own cases: functions that play client against a server, registered by name and clause."""

import importlib
import pkgutil
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from conformance.stage import Stage

Play = Callable[["Stage"], Awaitable[None]]


class OwnCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case: what it shows, the clauses it is about, and what it needs of the server."""

    id: str
    suite: str
    title: str
    clauses: tuple[str, ...]
    play: Play
    path: str
    level: int = 0
    capability: str = ""
    alone: bool = False  # no other case may run at the same time
    own_server: str = ""  # needs a server process to itself, made by this command variant
    seconds: float = 60.0


MAIN: Final = "main"  # the variant that `--server-cmd` gives
_CASES: Final[dict[str, OwnCase]] = {}


def case(
    *clauses: str,
    level: int = 0,
    capability: str = "",
    alone: bool = False,
    own_server: str = "",
    seconds: float = 60.0,
) -> Callable[[Play], Play]:
    """Register a function as the case of these clauses; its name is the permanent id."""

    def register(play: Play) -> Play:
        suite = play.__module__.rpartition(".")[2]
        name = f"{suite}.{play.__name__}"
        if name in _CASES or not play.__doc__ or not clauses:
            raise ValueError(f"case {name}: needs a name of its own, a docstring and a clause")
        _CASES[name] = OwnCase(
            id=name,
            suite=suite,
            title=" ".join(play.__doc__.split("\n\n")[0].split()),
            clauses=clauses,
            play=play,
            path=f"{play.__module__.replace('.', '/')}.py",
            level=level,
            capability=capability,
            alone=alone,
            own_server=own_server,
            seconds=seconds,
        )
        return play

    return register


def own_cases() -> list[OwnCase]:
    """Return every own case, in the order of the spec's files and then of writing."""
    package = importlib.import_module("conformance.cases")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"conformance.cases.{module.name}")
    return list(_CASES.values())
