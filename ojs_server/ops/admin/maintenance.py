"""Operators' calls on the whole server: maintenance, statistics, and the reset for tests."""

from ojs_server.domain import events
from ojs_server.domain.admin.maintenance import Maintenance, MaintenanceOrder
from ojs_server.ops.operation import Done, Operation, Stage
from ojs_server.ops.retention import COUNT_STEP
from ojs_server.ops.unit_of_work import Work


class Maintained(Done, frozen=True):
    """The present maintenance."""

    maintenance: Maintenance | None


class Maintain(Operation[Maintained], frozen=True):
    """Begin, change or end the maintenance of all nodes."""

    stage = Stage.CONTROL
    settings = True

    order: MaintenanceOrder

    @property
    def keys(self) -> tuple[object, ...]:
        return ("maintenance",)

    def carry_out(self, work: Work) -> Maintained:
        before = work.tx.maintenance
        after = self.order.applied(before, work.now)
        if after != before:
            work.tx.save_maintenance(after)
            word = "ended" if after is None else "started" if before is None else "changed"
            work.note(events.maintenance(word, after.reason if after else None))
        return Maintained(work.now, after)


class Collect(Operation[Done], frozen=True):
    """Add new events to the statistics, up to one step."""

    stage = Stage.CONTROL

    @property
    def keys(self) -> tuple[object, ...]:
        return ("collect",)

    def carry_out(self, work: Work) -> Done:
        work.tx.tally_events(COUNT_STEP)
        return Done(work.now)


class Reset(Operation[Done], frozen=True):
    """Delete all data, as between runs of a conformance suite."""

    stage = Stage.CONTROL
    settings = True

    @property
    def keys(self) -> tuple[object, ...]:
        return ("reset",)

    def carry_out(self, work: Work) -> Done:
        work.tx.wipe()
        return Done(work.now)
