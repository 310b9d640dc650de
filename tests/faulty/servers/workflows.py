"""Faults of workflows."""

from collections.abc import Callable
from typing import Any

import msgspec

from ojs_server.domain.workflows import graph as workflow_graph
from ojs_server.domain.workflows import lifecycle as workflow
from ojs_server.domain.workflows.plan import ENDED, Callback, Node
from ojs_server.http.workflows import operations as workflows
from ojs_server.ops.workflows import advance as workflow_moves
from ojs_wire import codec
from tests.faulty.fault import fault
from tests.faulty.planting import after, put, wrap
from tests.faulty.traffic import V1, change_answer

Run = workflow._Run


@fault("OJS-WFL-016")
def steps_do_not_wait() -> None:
    """All steps are enqueued at the start."""

    def make(launch: Callable[..., Any]) -> Callable[..., Any]:
        def eager(self: Any, index: int) -> None:
            launch(self, index)
            for member in self._plan.nodes[index].members:
                if self._plan.nodes[member].needs:
                    eager(self, member)

        return eager

    wrap(Run, "launch", make)


def _decides(wrong: Callable[[Node, list[Any]], bool | None]) -> None:
    """Change the decision on some of the nodes whose dependencies have all ended."""

    def make(decide: Callable[..., Any]) -> Callable[..., Any]:
        def may_run(self: Any, node: Node) -> bool | None:
            states = [self.states[need] for need in node.needs]
            said = wrong(node, states) if all(state in ENDED for state in states) else None
            decided: bool | None = decide(self, node) if said is None else said
            return decided

        return may_run

    wrap(Run, "_may_run", make)


@fault("OJS-WFL-014")
def failures_stop_nothing() -> None:
    """A step runs though one that it waited for has failed."""
    _decides(lambda node, states: True if node.fires is None else None)


@fault("OJS-WFL-017")
def success_is_always_told() -> None:
    """`on_success` runs though a job of the batch has failed."""
    _decides(lambda node, states: True if node.fires is Callback.ON_SUCCESS else None)


@fault("OJS-WFL-017")
def failure_is_always_told() -> None:
    """`on_failure` runs though all jobs of the batch have completed."""
    _decides(lambda node, states: True if node.fires is Callback.ON_FAILURE else None)


@fault("OJS-WFL-017")
def callbacks_fire_twice() -> None:
    """Each callback is enqueued two times."""

    def again(effects: Any, self: Any, *_: object) -> Any:
        fired = tuple(one for one in effects.enqueue if self._plan.nodes[one.node].fires)
        return msgspec.structs.replace(effects, enqueue=(*effects.enqueue, *fired))

    after(Run, "effects", again)


@fault("OJS-WFL-022")
def nothing_is_handed_on() -> None:
    """Steps are given no results of those before them."""
    after(
        workflow_moves,
        "hand_on",
        lambda found, *_: (found[0], dict.fromkeys(found[1], b"[]")),
    )


@fault("OJS-WFL-033")
def cancelled_workflows_go_on() -> None:
    """The waiting jobs of a cancelled workflow stay in their queues."""
    after(
        workflow,
        "cancel",
        lambda effects, *_: msgspec.structs.replace(effects, revoked=()),
    )


@fault("OJS-WFL-038")
def retried_workflows_stay_failed() -> None:
    """A workflow that is tried again is answered as it was before."""
    change_answer(
        f"{V1}/workflows/[^/]+/retry",
        lambda body: body["workflow"].update(state="failed"),
        status=200,
    )


@fault("OJS-WFL-039")
def workflows_are_retried_without_their_jobs() -> None:
    """A retry of a workflow is answered with 200 although the dead letter of a step was deleted."""
    change_answer(f"{V1}/workflows/[^/]+/retry", lambda body: None, status=409, becomes=200)


@fault("OJS-WFL-008")
def circles_are_accepted() -> None:
    """Steps may wait for each other in a circle."""
    put(workflow_graph, "_refuse_cycle", lambda steps, at: None)


@fault("OJS-WFL-037")
def results_of_steps_are_not_shown() -> None:
    """The steps of a workflow have no results."""
    put(workflows, "shown_results", lambda reader, members: {})


@fault("OJS-WFL-009")
def dependencies_are_not_counted() -> None:
    """A workflow may have any number of dependencies."""
    put(workflow_graph, "MAX_EDGES", 10**9)


@fault("OJS-WFL-035")
def durations_are_in_seconds() -> None:
    """The `duration_ms` of a workflow is in seconds."""

    def change(event: Any, *_: Any) -> Any:
        data = codec.decode(event.own)
        if "steps_completed" in data:
            data["duration_ms"] //= 1000
        return msgspec.structs.replace(event, own=codec.encode(data))

    after(workflow_moves, "event_of", change)
