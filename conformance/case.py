"""Cases of this suite: functions that play against a server, a worker or an adapter, by name and
clause."""

import importlib
import pkgutil
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

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


_SERVER_CASES: Final[dict[str, ServerCase]] = {}
_WORKER_CASES: Final[dict[str, WorkerCase]] = {}
_ADAPTER_CASES: Final[dict[str, AdapterCase]] = {}


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
        made = ServerCase(
            **_title(play, clauses),
            play=play,
            level=level,
            capability=capability,
            alone=alone,
            own_server=own_server,
            unstarted=unstarted,
            grpc=grpc,
            seconds=seconds,
        )
        _SERVER_CASES[made.id] = made
        return play

    return register


def worker_case(
    *clauses: str, seconds: float = 60.0, scaled_s: float = 0.0
) -> Callable[[PlayWorker], PlayWorker]:
    """Register a function as the case of these clauses that bind workers."""

    def register(play: PlayWorker) -> PlayWorker:
        made = WorkerCase(**_title(play, clauses), play=play, seconds=seconds, scaled_s=scaled_s)
        _WORKER_CASES[made.id] = made
        return play

    return register


def adapter_case(*clauses: str) -> Callable[[PlayAdapter], PlayAdapter]:
    """Register a function as the case of these clauses that bind framework adapters."""

    def register(play: PlayAdapter) -> PlayAdapter:
        made = AdapterCase(**_title(play, clauses), play=play)
        _ADAPTER_CASES[made.id] = made
        return play

    return register


def server_cases() -> list[ServerCase]:
    """Return this suite's cases of servers, in the order of modules and then of writing."""
    _load("conformance.cases")
    return list(_SERVER_CASES.values())


def worker_cases() -> list[WorkerCase]:
    """Return every case of workers, in the order of modules and then of writing."""
    _load("conformance.worker_cases")
    return list(_WORKER_CASES.values())


def adapter_cases() -> list[AdapterCase]:
    """Return every case of framework adapters, in the order of modules and then of writing."""
    _load("conformance.adapter_cases")
    return list(_ADAPTER_CASES.values())


def all_cases() -> list[OwnCase]:
    """Return the cases of all sides."""
    return [*server_cases(), *worker_cases(), *adapter_cases()]


def _title(play: Callable[..., Any], clauses: tuple[str, ...]) -> dict[str, Any]:
    suite = play.__module__.rpartition(".")[2]
    name = f"{suite}.{play.__name__}"
    known = any(name in cases for cases in (_SERVER_CASES, _WORKER_CASES, _ADAPTER_CASES))
    if known or not play.__doc__ or not clauses:
        raise ValueError(f"case {name}: needs a name of its own, a docstring and a clause")
    return {
        "id": name,
        "suite": suite,
        "title": " ".join(play.__doc__.split("\n\n")[0].split()),
        "clauses": clauses,
        "path": f"{play.__module__.replace('.', '/')}.py",
    }


def _load(package: str) -> None:
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{module.name}")
