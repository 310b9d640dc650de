"""Clients of the SDK that carry out the acts of a scenario, and note what they are told."""

import asyncio
from collections.abc import Sequence

from ojs_worker import Client
from ojs_worker.environment import Environment
from ojs_worker.errors import Refused, Unreachable
from ojs_worker.transport import Transport
from tests.simulation.acts.caller import Caller, Stage
from tests.simulation.acts.known import ACTS
from tests.simulation.ledger import Ledger, Told
from tests.simulation.machine.loop import Lane, SimulatedLoop
from tests.simulation.scenario import Act

# Subjects of acts whose places in the log are of use to oracles.
PLACED = ("flow", "cron", "hook", "tenant", "worker")


class ClientProcess:
    """A program with a client, which carries out acts side by side."""

    def __init__(
        self,
        loop: SimulatedLoop,
        lane: Lane,
        ledger: Ledger,
        environment: Environment,
        transport: Transport,
        stage: Stage | None,
        hosts: Sequence[tuple[str, int]],
    ) -> None:
        self.lane = lane
        # Number of acts that have not ended.
        self.open = 0
        self._loop = loop
        self._ledger = ledger
        self.client = Client(transport=transport, environment=environment)
        self.caller = Caller(
            lane.name, self.client, transport, environment, hosts, loop, ledger, stage
        )

    def act(self, act: Act) -> None:
        """Begin an act, at its time."""
        told = Told(self._loop.now, self.lane.name, act.kind, act.what)
        self._ledger.told.append(told)
        if act.kind.partition(" ")[0] in PLACED:
            told.head_at = self._ledger.head()
        self.open += 1
        self._loop.start(self.lane, self._carry_out(act, told), act.kind)

    async def _carry_out(self, act: Act, told: Told) -> None:
        try:
            told.answer = await ACTS[act.kind](self.caller, act.what)
            told.outcome = "ok"
        except Refused as refusal:
            told.outcome, told.code = "refused", refusal.code
        except (Unreachable, TimeoutError, asyncio.CancelledError):
            told.outcome = "unknown"
        told.answered_at = self._loop.now
        if told.head_at is not None:
            told.head_answered = self._ledger.head()
        self.open -= 1
