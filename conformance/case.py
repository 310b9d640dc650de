"""Cases of this suite: functions that play against a server, a worker or an adapter, by name and
clause."""

import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from conformance.variants import MAIN, VARIANTS

if TYPE_CHECKING:
    from conformance.play.adapter_stage import AdapterStage
    from conformance.play.stage import Stage
    from conformance.play.worker_stage import WorkerStage

Play = Callable[["Stage"], Awaitable[None]]
PlayWorker = Callable[["WorkerStage"], Awaitable[None]]
PlayAdapter = Callable[["AdapterStage"], Awaitable[None]]


class OwnCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case of this suite, whomever it judges: its permanent id, title and clauses."""

    id: str
    suite: str
    title: str
    clauses: tuple[str, ...]
    path: str
    module: str = ""
    origin: str = "own"  # or the folder of the author who brought it


class ServerCase(OwnCase, frozen=True, kw_only=True):
    """A case of servers, and what it needs of the server."""

    play: Play
    level: int = 0
    capability: str = ""
    alone: bool = False  # no other case may run at the same time
    own_server: str = ""  # needs a server process to itself, started by this command variant
    unstarted: bool = False  # the case starts that process itself
    grpc: bool = False  # the server's port for gRPC must be known
    seconds: float = 60.0


class WorkerCase(OwnCase, frozen=True, kw_only=True):
    """A case of workers, with its time limits, fixed and scaled."""

    play: PlayWorker
    seconds: float = 60.0
    scaled_s: float = 0.0  # duration at the protocol's own times


class AdapterCase(OwnCase, frozen=True, kw_only=True):
    """A case of framework adapters; each of its waits has a limit of its own."""

    play: PlayAdapter


Case = TypeVar("Case", bound=OwnCase)

_CASES: Final[dict[str, OwnCase]] = {}
# Types of the options, which an author may have wrong.
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "level": (int,),
    "capability": (str,),
    "alone": (bool,),
    "own_server": (str,),
    "unstarted": (bool,),
    "grpc": (bool,),
    "seconds": (int, float),
    "scaled_s": (int, float),
}


def case(
    *clauses: str,
    level: int = 0,
    capability: str = "",
    alone: bool = False,
    own_server: str = "",
    unstarted: bool = False,
    grpc: bool = False,
    seconds: float = 60.0,
) -> Callable[[Play], Play]:
    """Register a function as the case of these clauses; its name is the permanent id."""

    def register(play: Play) -> Play:
        if own_server not in ("", MAIN, *VARIANTS):
            raise ValueError(f"case {play.__name__}: there is no variant {own_server!r}")
        _registered(
            ServerCase,
            play,
            clauses,
            level=level,
            capability=capability,
            alone=alone,
            own_server=own_server,
            unstarted=unstarted,
            grpc=grpc,
            seconds=seconds,
        )
        return play

    return register


def worker_case(
    *clauses: str, seconds: float = 60.0, scaled_s: float = 0.0
) -> Callable[[PlayWorker], PlayWorker]:
    """Register a function as the case of these clauses that bind workers."""

    def register(play: PlayWorker) -> PlayWorker:
        _registered(WorkerCase, play, clauses, seconds=seconds, scaled_s=scaled_s)
        return play

    return register


def adapter_case(*clauses: str) -> Callable[[PlayAdapter], PlayAdapter]:
    """Register a function as the case of these clauses that bind framework adapters."""

    def register(play: PlayAdapter) -> PlayAdapter:
        _registered(AdapterCase, play, clauses)
        return play

    return register


def server_cases() -> list[ServerCase]:
    """Return this suite's cases of servers, in the order of modules and then of writing."""
    return _loaded("conformance.cases", ServerCase)


def worker_cases() -> list[WorkerCase]:
    """Return every case of workers, in the order of modules and then of writing."""
    return _loaded("conformance.worker_cases", WorkerCase)


def adapter_cases() -> list[AdapterCase]:
    """Return every case of framework adapters, in the order of modules and then of writing."""
    return _loaded("conformance.adapter_cases", AdapterCase)


def all_cases() -> list[OwnCase]:
    """Return the cases of all sides."""
    return [*server_cases(), *worker_cases(), *adapter_cases()]


def cases_of(module: str) -> list[OwnCase]:
    """Remove the cases of a module from those that are known, and return them."""
    names = [name for name, case in _CASES.items() if case.module == module]
    return [_CASES.pop(name) for name in names]


def _registered(
    kind: type[OwnCase], play: Callable[..., Any], clauses: tuple[object, ...], **options: Any
) -> None:
    """Make a case and keep it; raise where something is missing or of another type."""
    suite = play.__module__.rpartition(".")[2]
    name = f"{suite}.{play.__name__}"
    if not inspect.iscoroutinefunction(play):
        raise ValueError(f"case {name}: `async def` is expected")
    if not play.__doc__ or not clauses or name in _CASES:
        raise ValueError(f"case {name}: needs a name of its own, a docstring and a clause")
    for option, value in options.items():
        types = _TYPES[option]
        if not isinstance(value, types):
            raise ValueError(f"case {name}: `{option}` takes {types[-1].__name__}, not {value!r}")
    texts = tuple(clause for clause in clauses if isinstance(clause, str))
    if len(texts) < len(clauses):
        raise ValueError(f"case {name}: clauses are texts, not {clauses!r}")
    _CASES[name] = kind(
        id=name,
        suite=suite,
        title=" ".join(play.__doc__.split("\n\n")[0].split()),
        clauses=texts,
        path=f"{play.__module__.replace('.', '/')}.py",
        module=play.__module__,
        **{"play": play, **options},
    )


def _loaded(package: str, kind: type[Case]) -> list[Case]:
    """Load the modules of a package, and return the cases of this kind that they have."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{module.name}")
    return [
        case
        for case in _CASES.values()
        if isinstance(case, kind) and case.module.startswith(f"{package}.")
    ]
