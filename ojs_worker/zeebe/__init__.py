"""Workers as users of the workflow engine Zeebe write them, on this SDK's own worker.

See docs/systems/zeebe.md for what is alike and what is not.
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
