"""Workers and workflows of a blackboard: function blocks with their three hooks.

    entities ──▶ ACQUIRE of every block, until nothing new is found
             ──▶ EXECUTE block by block, with all entities in its context
             ──▶ ROLLBACK of what was executed, backwards, if one fails

A worker runs the hooks, a workflow puts the jobs on the board and waits for each.
See docs/systems/blackboard.md.
"""

from ojs_worker.blackboard.block import Acquired, Executed, FunctionBlock
from ojs_worker.blackboard.worker import BoardWorker
from ojs_worker.blackboard.workflow import (
    BoardHooks,
    BoardWorkflow,
    EndlessDiscovery,
    OtherRun,
    Report,
    new_run,
)

__all__ = [
    "Acquired",
    "BoardHooks",
    "BoardWorker",
    "BoardWorkflow",
    "EndlessDiscovery",
    "Executed",
    "FunctionBlock",
    "OtherRun",
    "Report",
    "new_run",
]
