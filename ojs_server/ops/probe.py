"""A change that changes nothing: it shows whether changes reach the disk."""

from collections.abc import Sequence

import msgspec

from ojs_server.ops.work import Work


class Probe(msgspec.Struct, frozen=True):
    """Write something that is of no consequence."""

    @property
    def keys(self) -> tuple[object, ...]:
        """Keys that two operations of a transaction may not share."""
        return ("probe",)


class Probed(msgspec.Struct, frozen=True):
    """Moment of the probe, and the database that took it, for the log."""

    now: int
    where: str


def run(work: Work, ops: Sequence[Probe]) -> list[Probed]:
    """A batch holds one at most."""
    return [Probed(work.now, work.tx.touch()) for _ in ops]
