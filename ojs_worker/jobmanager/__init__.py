"""Workers and clients of a job manager: jobs of rooms, and their tasks, one at a time.

See docs/systems/job-manager.md for the differences from the original.
"""

from ojs_worker.jobmanager.calls import Task
from ojs_worker.jobmanager.claimed import ClaimedTask
from ojs_worker.jobmanager.client import JobManagerClient
from ojs_worker.jobmanager.extension import Category, Extension
from ojs_worker.jobmanager.manager import JobManager

__all__ = ["Category", "ClaimedTask", "Extension", "JobManager", "JobManagerClient", "Task"]
