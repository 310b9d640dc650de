"""Workflows: chains, groups and batches of jobs, nested where need be, as the server takes them."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Unpack

import msgspec

from ojs_worker.client.options import JobDefaults, check_default_names, wire_defaults
from ojs_worker.client.requests import JobRequest

# The callbacks of a batch: at its end in any case, if all jobs succeeded, if one failed.
CallbackName = Literal["on_complete", "on_success", "on_failure"]


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow, which can be started or be a member of another one."""

    # One after the other, all at once, or all at once with callbacks.
    type: Literal["chain", "group", "batch"]
    # Its jobs and workflows.
    members: tuple["JobRequest | Flow", ...]
    # A name for lists.
    name: str | None = None
    # Jobs that run when a batch is done.
    callbacks: Mapping[CallbackName, "JobRequest | Flow"] = {}
    # Options for all jobs that do not set them, as the server takes them.
    options: Mapping[str, Any] = {}

    def map(self, change: Callable[[JobRequest], JobRequest]) -> "Flow":
        """Return a copy of the workflow with `change` applied to each job."""

        def changed(step: "JobRequest | Flow") -> "JobRequest | Flow":
            return step.map(change) if isinstance(step, Flow) else change(step)

        return msgspec.structs.replace(
            self,
            members=tuple(changed(member) for member in self.members),
            callbacks={name: changed(callback) for name, callback in self.callbacks.items()},
        )

    def wire(self, flow_id: str | None = None) -> dict[str, Any]:
        """Return the JSON object of the request."""
        body: dict[str, Any] = {"type": self.type}
        if flow_id is not None:
            body["id"] = flow_id
        if self.name is not None:
            body["name"] = self.name
        body["steps" if self.type == "chain" else "jobs"] = [
            _step(member) for member in self.members
        ]
        if self.callbacks:
            body["callbacks"] = {name: _step(callback) for name, callback in self.callbacks.items()}
        if self.options:
            body["options"] = dict(self.options)
        return body


def chain(
    *steps: JobRequest | Flow, name: str | None = None, **options: Unpack[JobDefaults]
) -> Flow:
    """Return a workflow of steps one after the other; each gets the results of those before it, as
    `parent_results`."""
    return _flow("chain", steps, name, options)


def group(
    *jobs: JobRequest | Flow, name: str | None = None, **options: Unpack[JobDefaults]
) -> Flow:
    """Return a workflow whose jobs run at once."""
    return _flow("group", jobs, name, options)


def batch(
    *jobs: JobRequest | Flow,
    name: str | None = None,
    on_complete: JobRequest | Flow | None = None,
    on_success: JobRequest | Flow | None = None,
    on_failure: JobRequest | Flow | None = None,
    **options: Unpack[JobDefaults],
) -> Flow:
    """Return a workflow whose jobs run at once, with callbacks for when they have ended."""
    named: dict[CallbackName, JobRequest | Flow | None] = {
        "on_complete": on_complete,
        "on_success": on_success,
        "on_failure": on_failure,
    }
    callbacks = {event: callback for event, callback in named.items() if callback is not None}
    if not callbacks:
        raise ValueError("a batch has on_complete, on_success or on_failure; else it is a group")
    return msgspec.structs.replace(_flow("batch", jobs, name, options), callbacks=callbacks)


def _flow(
    type: Literal["chain", "group", "batch"],
    members: tuple[JobRequest | Flow, ...],
    name: str | None,
    options: Mapping[str, Any],
) -> Flow:
    if not members:
        raise ValueError(f"a {type} has at least one job")
    defaults = wire_defaults(check_default_names(options))
    return Flow(type=type, members=members, name=name, options=defaults)


def _step(step: JobRequest | Flow) -> dict[str, Any]:
    if isinstance(step, Flow):
        return step.wire()
    # In a workflow, `id` is the name of a step, and the server makes the id of the job.
    return {name: value for name, value in step.wire().items() if name != "id"}
