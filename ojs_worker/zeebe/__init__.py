"""Workers in the style of the workflow engine Zeebe, run by this SDK.

See docs/systems/zeebe.md for the differences from the original.
"""

from ojs_worker.zeebe.client import ZeebeClient, ZeebeWorker
from ojs_worker.zeebe.errors import AlreadyCompleted, BpmnError, LeaseExpired
from ojs_worker.zeebe.job import BlockingZeebeJob, ZeebeJob

__all__ = [
    "AlreadyCompleted",
    "BlockingZeebeJob",
    "BpmnError",
    "LeaseExpired",
    "ZeebeClient",
    "ZeebeJob",
    "ZeebeWorker",
]
