"""Calls of a client about workflows and cron entries, named as in the command line."""

from typing import Any

import msgspec

from ojs_worker.client.calls import Call, answer_as, cron_of, flow_of
from ojs_worker.client.records import CronEntry, CronRun, Workflow, WorkflowProgress
from ojs_worker.client.surface import Group, M, Pages, listing, method, read_by, send_json, url
from ojs_worker.transport import Request

_progress = msgspec.json.Decoder(WorkflowProgress)


class CronEntries(Group[M]):
    """Cron entries, beyond `put_cron` and the like."""

    @method
    @staticmethod
    def change(name: str, **members: Any) -> Call[CronEntry]:
        """Change members of a cron entry, as on the wire."""
        return read_by(cron_of, send_json("PATCH", url("cron", name), members))

    @method
    @staticmethod
    def pause(name: str) -> Call[CronEntry]:
        """Pause a cron entry."""
        return read_by(cron_of, send_json("POST", url("cron", name, "pause"), {}))

    @method
    @staticmethod
    def resume(name: str) -> Call[CronEntry]:
        """Resume a cron entry."""
        return read_by(cron_of, send_json("POST", url("cron", name, "resume"), {}))

    @listing
    @staticmethod
    def history(name: str) -> Pages[CronRun]:
        """Iterate over the runs of a cron entry, newest first."""
        return Pages(url("cron", name, "history"), {}, ("history", "executions"), CronRun)


class Workflows(Group[M]):
    """Workflows, beyond `start` and the like."""

    @listing
    @staticmethod
    def list(
        *, state: str | None = None, type: str | None = None, name: str | None = None
    ) -> Pages[Workflow]:
        """Iterate over workflows, newest first, without their steps."""
        query = {"state": state, "type": type, "name": name}
        return Pages(url("workflows"), query, ("workflows", "items"), Workflow)

    @method
    @staticmethod
    def progress(workflow_id: str) -> Call[WorkflowProgress]:
        """Read the progress of a workflow, step by step."""
        path = url("workflows", workflow_id, "progress")
        return Call(Request("GET", path), lambda reply: answer_as(reply, _progress))

    @method
    @staticmethod
    def retry(workflow_id: str) -> Call[Workflow]:
        """Retry a failed workflow from the steps that failed."""
        made = send_json("POST", url("workflows", workflow_id, "retry"), {}, repeatable=False)
        return read_by(flow_of, made)
