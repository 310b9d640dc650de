"""Public names for modules of cases that their authors bring with `--cases DIR`.

A case is an async function with a docstring and one parameter, `Stage` for servers and
`WorkerStage` for workers. Its id is the name of its module, a dot, and its own name.
"""

from conformance.case import case, worker_case
from conformance.play.event_stream import streaming
from conformance.play.stage import Stage
from conformance.play.websocket import connected
from conformance.play.worker_stage import WorkerStage
from conformance.played.calls import ALL, SETTLING, Kind
from conformance.played.script import answer_with, garbage, held_until, lost_answer, refused, reset
from conformance.variants import HOOKS, MAIN
from conformance.verdicts.reply import Reply

__all__ = [
    "ALL",
    "HOOKS",
    "MAIN",
    "SETTLING",
    "Kind",
    "Reply",
    "Stage",
    "WorkerStage",
    "answer_with",
    "case",
    "connected",
    "garbage",
    "held_until",
    "lost_answer",
    "refused",
    "reset",
    "streaming",
    "worker_case",
]
