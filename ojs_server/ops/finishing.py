"""Complete a transaction before its flush: the consequences of its operations in other subjects."""

from collections.abc import Sequence

from ojs_server.ops.admin.action_log import note_actions
from ojs_server.ops.operation import AnyOperation, Outcome
from ojs_server.ops.unit_of_work import Work
from ojs_server.ops.workflows.advance import advance


def finish(work: Work, ops: Sequence[AnyOperation], outcomes: Sequence[Outcome]) -> None:
    """Record the actions of people, and advance the workflows whose steps have ended."""
    for op in ops:
        if op.by is not None:
            note_actions(work, ops, outcomes)
            break
    if work.ended_members:
        advance(work)
