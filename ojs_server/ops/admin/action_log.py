"""The action log: operations of people, with their outcomes."""

from collections.abc import Sequence

from ojs_server.domain.admin.action import DONE, Action, Actor
from ojs_server.domain.errors import OjsError
from ojs_server.ops.operation import AnyOperation, Outcome
from ojs_server.ops.unit_of_work import Work
from ojs_wire import codes


def note_actions(work: Work, ops: Sequence[AnyOperation], outcomes: Sequence[Outcome]) -> None:
    """Record the actions of people in the transaction that carries them out."""
    acted = [
        _action(work, op.by, outcome)
        for op, outcome in zip(ops, outcomes, strict=True)
        if op.by is not None
    ]
    if acted:
        work.tx.insert_actions(acted)


def _action(work: Work, by: Actor, outcome: Outcome) -> Action:
    word = DONE
    if isinstance(outcome, OjsError):
        word = outcome.answer_code.name
    elif isinstance(outcome, BaseException):
        word = codes.INTERNAL_ERROR.name
    return Action(work.tx.position(), work.now, by, word)
