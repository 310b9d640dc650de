"""The state machine of workflows, form by form; the property tests hold for all forms."""

from typing import Any, Final

import pytest

from ojs_server.domain.errors import Conflict
from ojs_server.domain.jobs.job import State
from ojs_server.domain.workflows.lifecycle import (
    Outcome,
    advance,
    cancel,
    culprit,
    hands_on,
    outcome_of,
    retry,
    start,
    tally,
)
from ojs_server.domain.workflows.parse import parse_workflow
from ojs_server.domain.workflows.plan import Effects, NodeState, WorkflowState

DONE: Final = NodeState.COMPLETED
FAILED: Final = NodeState.FAILED


def job(name: str, **more: Any) -> dict[str, Any]:
    return {"type": name, "args": [], **more}


class Flow:
    """A workflow under way; jobs go by their types."""

    def __init__(self, body: object) -> None:
        self.plan = parse_workflow(body).plan
        self.last = start(self.plan)

    def ends(self, name: str, outcome: Outcome = DONE) -> list[str]:
        """End a job; answer what is enqueued for it."""
        self.last = advance(self.plan, self.last.progress, self.index(name), outcome)
        return self.enqueued

    def cancels(self, *held: str) -> Effects:
        held_nodes = {self.index(name) for name in held}
        self.last = cancel(self.plan, self.last.progress, held_nodes)
        return self.last

    def retries(self) -> list[str | None]:
        """Try it again; answer the jobs that are tried anew."""
        self.last = retry(self.plan, self.last.progress)
        return self.names(self.last.retried)

    def of(self, name: str) -> NodeState:
        return self.last.progress.nodes[self.index(name)]

    def index(self, name: str) -> int:
        return [node.job_type for node in self.plan.nodes].index(name)

    def names(self, nodes: tuple[int, ...]) -> list[str | None]:
        return [self.plan.nodes[node].job_type for node in nodes]

    @property
    def enqueued(self) -> list[str]:
        return [str(self.plan.nodes[launch.node].job_type) for launch in self.last.enqueue]

    @property
    def notices(self) -> list[tuple[str, str]]:
        """The events and the ids they speak of."""
        return [
            (notice.type.removeprefix("workflow."), self.plan.nodes[notice.node].id)
            for notice in self.last.notices
        ]

    @property
    def state(self) -> WorkflowState:
        return self.last.progress.state

    @property
    def counts(self) -> tuple[int, int, int, int]:
        found = tally(self.plan, self.last.progress)
        return (found.completed, found.failed, found.cancelled, found.remaining)


def test_a_chain_runs_step_by_step() -> None:
    flow = Flow({"type": "chain", "steps": [job("a"), job("b"), job("c")]})
    assert flow.enqueued == ["a"]
    assert flow.notices == [("created", ""), ("started", "")]
    assert flow.counts == (0, 0, 0, 3)
    assert flow.ends("a") == ["b"]
    assert flow.notices == [("step_completed", "0")]
    assert flow.ends("b") == ["c"]
    assert (flow.counts, flow.state) == ((2, 0, 0, 1), "running")
    assert flow.ends("c") == []
    assert flow.notices == [("step_completed", "2"), ("completed", "")]
    assert (flow.counts, flow.state) == ((3, 0, 0, 0), "completed")
    assert culprit(flow.plan, flow.last.progress) is None


def test_results_are_wanted_while_a_step_that_waited_has_not_ended() -> None:
    inner = {"type": "chain", "steps": [job("b"), job("c")]}
    flow = Flow({"type": "group", "jobs": [job("a"), inner]})
    wanted = [hands_on(flow.plan, flow.last.progress)]
    for name in ("a", "b", "c"):
        flow.ends(name)
        wanted.append(hands_on(flow.plan, flow.last.progress))
    assert wanted == [True, True, True, False]


def test_a_failed_step_drops_the_rest_of_its_chain() -> None:
    flow = Flow({"type": "chain", "steps": [job("a"), job("b"), job("c"), job("d")]})
    flow.ends("a")
    assert flow.ends("b", FAILED) == []
    assert flow.names(flow.last.dropped) == ["c", "d"]
    assert flow.notices == [("step_failed", "1"), ("failed", "")]
    assert (flow.counts, flow.state) == ((1, 1, 2, 0), "failed")
    assert culprit(flow.plan, flow.last.progress) == flow.index("b")


def test_a_group_ends_when_its_last_member_does_and_disturbs_none() -> None:
    flow = Flow({"type": "group", "jobs": [job("a"), job("b"), job("c")]})
    assert flow.enqueued == ["a", "b", "c"]
    flow.ends("b", FAILED)
    assert (flow.state, flow.last.dropped) == ("running", ())
    flow.ends("a")
    assert flow.state == "running"
    flow.ends("c")
    assert (flow.counts, flow.state) == ((2, 1, 0, 0), "failed")
    assert culprit(flow.plan, flow.last.progress) == flow.index("b")


@pytest.mark.parametrize(
    ("outcome", "fired"), [(DONE, ["always", "well"]), (FAILED, ["always", "badly"])]
)
def test_a_batch_decides_on_its_callbacks_once(outcome: Outcome, fired: list[str]) -> None:
    callbacks = {
        "on_complete": job("always"),
        "on_success": job("well"),
        "on_failure": job("badly"),
    }
    flow = Flow({"type": "batch", "jobs": [job("a"), job("b")], "callbacks": callbacks})
    assert flow.ends("a", outcome) == []
    assert flow.ends("b") == fired
    assert [kind for kind, _ in flow.notices].count("callback_fired") == 2
    assert len(flow.last.dropped) == 1
    assert flow.state == "running"
    assert [flow.ends(name) for name in fired] == [[], []]
    assert flow.state == "completed"


@pytest.mark.parametrize(
    ("callback", "member", "outcome", "state"),
    [
        ("on_success", DONE, DONE, "completed"),
        ("on_success", DONE, FAILED, "failed"),
        ("on_failure", FAILED, DONE, "completed"),
        ("on_complete", FAILED, DONE, "completed"),
        ("on_complete", FAILED, FAILED, "failed"),
    ],
)
def test_a_batch_ends_as_its_callbacks_do(
    callback: str, member: Outcome, outcome: Outcome, state: str
) -> None:
    flow = Flow({"type": "batch", "jobs": [job("a")], "callbacks": {callback: job("back")}})
    assert flow.ends("a", member) == ["back"]
    flow.ends("back", outcome)
    assert flow.state == state
    blamed = culprit(flow.plan, flow.last.progress)
    assert blamed == (flow.index("back") if state == "failed" else None)


@pytest.mark.parametrize(
    ("callback", "member", "state"),
    [("on_success", FAILED, "failed"), ("on_failure", DONE, "completed")],
)
def test_a_batch_without_a_callback_to_fire_ends_as_its_members_do(
    callback: str, member: Outcome, state: str
) -> None:
    flow = Flow({"type": "batch", "jobs": [job("a")], "callbacks": {callback: job("back")}})
    assert flow.ends("a", member) == []
    assert flow.state == state
    assert flow.last.progress.nodes[flow.index("back")] is NodeState.CANCELLED


def test_a_failed_step_of_a_graph_drops_what_needs_it_and_no_more() -> None:
    steps = [
        job("a", id="a"),
        job("b", id="b"),
        job("c", id="c", depends_on=["a", "b"]),
        job("d", id="d", depends_on=["b"]),
        job("e", id="e", depends_on=["c", "d"]),
        job("f", id="f", depends_on=["c", "e"]),
    ]
    flow = Flow({"steps": steps})
    assert flow.enqueued == ["a", "b"]
    flow.ends("a", FAILED)
    assert flow.names(flow.last.dropped) == ["c", "e", "f"]
    assert flow.ends("b") == ["d"]
    assert flow.state == "running"
    flow.ends("d")
    assert flow.state == "failed"


def test_the_end_of_a_nested_definition_drives_the_one_around_it() -> None:
    inner = {"type": "group", "jobs": [job("b"), {"type": "chain", "steps": [job("c"), job("d")]}]}
    flow = Flow({"type": "chain", "steps": [job("a"), inner, job("e")]})
    assert flow.ends("a") == ["b", "c"]
    assert flow.ends("c") == ["d"]
    assert flow.ends("d") == []
    assert flow.notices == [("step_completed", "1.1.1"), ("step_completed", "1.1")]
    assert flow.ends("b") == ["e"]
    assert flow.notices == [("step_completed", "1.0"), ("step_completed", "1")]
    flow.ends("e")
    assert (flow.counts, flow.state) == ((3, 0, 0, 0), "completed")


def test_a_nested_failure_waits_for_its_siblings_and_then_drops_what_follows() -> None:
    inner = {"type": "group", "jobs": [job("b"), job("c")]}
    later = {"type": "group", "jobs": [job("d"), {"type": "chain", "steps": [job("e"), job("f")]}]}
    flow = Flow({"type": "chain", "steps": [job("a"), inner, later]})
    flow.ends("a")
    flow.ends("b", FAILED)
    assert (flow.last.dropped, flow.state) == ((), "running")
    flow.ends("c")
    assert flow.names(flow.last.dropped) == ["d", "e", "f"]
    assert flow.state == "failed"
    assert culprit(flow.plan, flow.last.progress) == flow.index("b")
    assert set(flow.last.progress.nodes) <= {DONE, FAILED, NodeState.CANCELLED}


def test_a_callback_may_be_a_definition() -> None:
    back = {"type": "chain", "steps": [job("x"), job("y")]}
    flow = Flow({"type": "batch", "jobs": [job("a")], "callbacks": {"on_complete": back}})
    assert flow.ends("a") == ["x"]
    assert flow.notices == [("step_completed", "0"), ("callback_fired", "on_complete")]
    flow.ends("x", FAILED)
    assert flow.state == "failed"
    assert culprit(flow.plan, flow.last.progress) == flow.index("x")


def test_saying_an_end_twice_changes_nothing() -> None:
    flow = Flow({"type": "group", "jobs": [job("a"), job("b")]})
    flow.ends("a", FAILED)
    before = flow.last.progress
    # A dead-letter retry of the member succeeds later: it does not reopen anything.
    assert flow.ends("a", DONE) == []
    assert flow.last == Effects(before)
    flow.ends("b")
    assert flow.state == "failed"
    assert flow.ends("a", DONE) == []
    assert (flow.state, flow.last.notices) == ("failed", ())


def test_a_cancel_spares_only_what_workers_are_at() -> None:
    inner = {"type": "chain", "steps": [job("c"), job("d")]}
    flow = Flow({"type": "group", "jobs": [job("a"), job("b"), inner]})
    flow.ends("a")
    effects = flow.cancels("b")
    assert flow.names(effects.revoked) == ["c"]
    assert flow.names(effects.dropped) == ["d"]
    assert flow.notices == [("cancelled", "")]
    assert flow.state == "cancelled"
    assert flow.counts == (1, 0, 1, 1)
    assert effects.progress.nodes[flow.index("b")] is NodeState.PENDING
    # The job that was not cancelled ends: this is counted, and nothing follows.
    flow.ends("b")
    assert (flow.counts, flow.state, flow.notices) == ((2, 0, 1, 0), "cancelled", [])


def test_after_a_cancel_no_callback_fires() -> None:
    callbacks = {"on_complete": job("back")}
    flow = Flow({"type": "batch", "jobs": [job("a")], "callbacks": callbacks})
    flow.cancels("a")
    assert flow.ends("a") == []
    assert flow.last.progress.nodes[flow.index("back")] is NodeState.CANCELLED


@pytest.mark.parametrize("outcome", [DONE, FAILED])
def test_only_a_running_workflow_can_be_cancelled(outcome: Outcome) -> None:
    flow = Flow({"type": "chain", "steps": [job("a")]})
    flow.ends("a", outcome)
    with pytest.raises(Conflict, match=f"the workflow is {outcome}; this needs running") as refused:
        flow.cancels()
    assert refused.value.details == {"current_state": outcome, "expected_state": "running"}


@pytest.mark.parametrize("index", [0, 2])
def test_only_an_enqueued_job_can_end(index: int) -> None:
    flow = Flow({"type": "chain", "steps": [job("a"), job("b")]})
    with pytest.raises(ValueError, match=f"node {index} .* is no job that was enqueued"):
        advance(flow.plan, flow.last.progress, index, DONE)


@pytest.mark.parametrize(
    ("state", "outcome"),
    [(State.COMPLETED, DONE), (State.DISCARDED, FAILED), (State.CANCELLED, FAILED)],
)
def test_every_end_of_a_job_but_success_is_a_failure(state: str, outcome: Outcome) -> None:
    assert outcome_of(state) is outcome
    with pytest.raises(ValueError, match="has not ended"):
        outcome_of(State.RETRYABLE)


def test_a_retried_chain_goes_on_where_it_failed() -> None:
    flow = Flow({"type": "chain", "steps": [job("a"), job("b"), job("c"), job("d")]})
    flow.ends("a")
    flow.ends("b", FAILED)
    assert flow.retries() == ["b"]
    assert [flow.of(name) for name in "abcd"] == [
        DONE,
        NodeState.PENDING,
        NodeState.WAITING,
        NodeState.WAITING,
    ]
    assert flow.notices == [("retried", "")]
    assert flow.enqueued == []
    assert flow.ends("b") == ["c"]
    flow.ends("c")
    flow.ends("d")
    assert flow.state is WorkflowState.COMPLETED


def test_a_retried_workflow_can_fail_and_be_retried_again() -> None:
    flow = Flow({"type": "chain", "steps": [job("a"), job("b")]})
    for _ in range(2):
        flow.ends("a", FAILED)
        assert flow.state is WorkflowState.FAILED
        assert flow.retries() == ["a"]
    assert flow.ends("a") == ["b"]


def test_a_retry_leaves_what_has_completed_alone() -> None:
    inner = {"type": "group", "jobs": [job("b"), job("c")]}
    flow = Flow({"type": "chain", "steps": [job("a"), inner, job("d")]})
    flow.ends("a")
    flow.ends("b", FAILED)
    flow.ends("c")
    assert flow.retries() == ["b"]
    assert (flow.of("a"), flow.of("c")) == (DONE, DONE)
    assert flow.ends("b") == ["d"]


def test_dropped_definitions_wait_once_more_after_a_retry() -> None:
    inner = {"type": "batch", "jobs": [job("b")], "callbacks": {"on_success": job("c")}}
    flow = Flow({"type": "chain", "steps": [job("a"), inner]})
    flow.ends("a", FAILED)
    flow.retries()
    assert flow.ends("a") == ["b"]
    assert flow.ends("b") == ["c"]


def test_members_are_retried_where_no_callback_has_fired() -> None:
    callbacks = {"on_success": job("well")}
    flow = Flow({"type": "batch", "jobs": [job("a"), job("b")], "callbacks": callbacks})
    flow.ends("a", FAILED)
    flow.ends("b")
    assert flow.retries() == ["a"]
    assert flow.ends("a") == ["well"]


def test_a_callback_that_failed_is_retried_alone() -> None:
    callbacks = {"on_failure": job("undo"), "on_complete": job("tell")}
    flow = Flow({"type": "batch", "jobs": [job("a")], "callbacks": callbacks})
    flow.ends("a", FAILED)
    flow.ends("tell")
    flow.ends("undo", FAILED)
    assert flow.retries() == ["undo"]
    assert (flow.of("a"), flow.of("tell")) == (FAILED, DONE)
    flow.ends("undo")
    assert flow.state is WorkflowState.COMPLETED


def test_only_a_failed_workflow_can_be_retried() -> None:
    flow = Flow({"type": "group", "jobs": [job("a")]})
    with pytest.raises(Conflict):
        flow.retries()
    flow.ends("a")
    with pytest.raises(Conflict):
        flow.retries()
    flow = Flow({"type": "group", "jobs": [job("a")]})
    flow.cancels()
    with pytest.raises(Conflict):
        flow.retries()
