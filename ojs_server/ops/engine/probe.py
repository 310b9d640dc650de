"""Health probe: a write that has no other effect than to show that writes reach the disk."""

import msgspec

from ojs_server.ops.operation import Operation, Stage
from ojs_server.ops.unit_of_work import Work


class Probed(msgspec.Struct, frozen=True):
    """The time of the probe, and the name of the database, for the log."""

    now: int
    where: str


class Probe(Operation[Probed], frozen=True):
    """Write to a row that nothing else uses."""

    stage = Stage.PROBE
    tracks_workers = True
    due = True

    @property
    def keys(self) -> tuple[object, ...]:
        return ("probe",)

    def carry_out(self, work: Work) -> Probed:
        return Probed(work.now, work.tx.touch())
