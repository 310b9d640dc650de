"""Runs of handlers, as they are noted."""

from typing import Any

from tests.simulation.ledger import Ledger, Start
from tests.simulation.machine.loop import SimulatedLoop


class Runs:
    """Notes the runs of one worker's handlers."""

    def __init__(self, worker: str, loop: SimulatedLoop, ledger: Ledger) -> None:
        self.worker = worker
        self.loop = loop
        self.ledger = ledger

    def begin(self, ctx: Any, key: str) -> Start:
        """Note that a handler starts."""
        start = Start(ctx.job.id, ctx.job.attempt, self.worker, self.loop.now, key)
        self.ledger.starts.append(start)
        self.loop.note(f"start {key}: {start.job_id} attempt {start.attempt}")
        return start

    def end(self, start: Start, outcome: str) -> None:
        """Note that a handler has ended."""
        start.outcome, start.ended_at = outcome, self.loop.now
        self.loop.note(f"{outcome} {start.key}: {start.job_id} attempt {start.attempt}")
