"""A client of the SDK with all that is around it, as acts need it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from ojs_server.store.records import Staged
from ojs_worker import Client
from ojs_worker.environment import Environment
from ojs_worker.transport import Transport
from tests.simulation.ledger import Ledger
from tests.simulation.machine.loop import SimulatedLoop


class Stage(Protocol):
    """Stages jobs in a transaction of a program, whose tables are in the server's database."""

    def __call__(self, jobs: Sequence[Staged], *, commits: bool) -> None:
        """Commit the transaction, or roll it back; raise StoreUnreachable."""


class Caller(msgspec.Struct, frozen=True):
    """A client, and what acts need beside it."""

    name: str
    client: Client
    # For calls by hand: its answers are noted as those of the client are.
    transport: Transport
    environment: Environment
    # Host and port of each node.
    hosts: Sequence[tuple[str, int]]
    loop: SimulatedLoop
    ledger: Ledger
    # None if the database is a file that only a server opens.
    stage: Stage | None = None
    # Readers of WebSocket channels, by their names.
    readers: dict[str, Any] = {}


# Carries out an act, and returns what is noted as its answer.
Do = Callable[[Caller, dict[str, Any]], Awaitable[Any]]
Acts = Mapping[str, Do]
