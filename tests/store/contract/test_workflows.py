"""The store contract: workflows, their jobs, and results passed on."""

from typing import Any

import msgspec
import pytest

from ojs_server.domain.jobs.attachments import Progress as Report
from ojs_server.domain.workflows.record import (
    MemberJob,
    MemberProgress,
    WaitingJob,
    Workflow,
    WorkflowJob,
)
from ojs_server.store.base import StaleWrite, Store
from ojs_server.store.records import ListPosition, WorkflowFilter, WorkflowPage
from tests.store.records import (
    ON_ALL_VERSIONS,
    START,
    HandClock,
    a_job,
    a_lease,
    claim,
    hold,
    put,
    record,
    undone,
    whole,
)

EVERY = WorkflowFilter()
FULL = Workflow(
    id="w1",
    name="nightly ☃",
    kind="batch",
    state="failed",
    plan=b'{"nodes":[{"id":"\\u0000"}]}',
    progress="fcx",
    created_at=START + 1,
    finished_at=START + 2,
    due_at=START + 3,
    request_hash=b"\x00hash",
    tenant="acme",
)


def a_workflow(workflow_id: str, **fields: Any) -> Workflow:
    """A running chain of two steps."""
    usual: dict[str, Any] = {
        "name": None,
        "kind": "chain",
        "state": "running",
        "plan": b"{}",
        "progress": "apw",
        "created_at": START,
        **fields,
    }
    return Workflow(id=workflow_id, **usual)


def keep(store: Store, *workflows: Workflow) -> None:
    with store.transaction() as tx:
        assert tx.insert_workflows(workflows) == set()


def members(store: Store, *jobs: WorkflowJob) -> None:
    with store.transaction() as tx:
        tx.insert_workflow_jobs(jobs)


def page(
    store: Store,
    wanted: WorkflowFilter = EVERY,
    limit: int = 10,
    offset: int = 0,
    after: ListPosition | None = None,
) -> WorkflowPage:
    with store.reader() as reader:
        return reader.workflows(wanted, limit, offset, after)


def ids(found: WorkflowPage) -> list[str]:
    return [one.id for one in found.workflows]


@ON_ALL_VERSIONS
def test_a_workflow_is_read_as_it_was_stored(store: Store) -> None:
    keep(store, FULL, a_workflow("w2"))
    with store.transaction() as tx:
        assert tx.load_workflows(["w1", "w2", "w3"]) == {"w1": FULL, "w2": a_workflow("w2")}
        assert tx.load_workflow_requests(["w1", "w2", "w3"]) == {"w1": b"\x00hash", "w2": None}
    with store.reader() as reader:
        found = reader.workflow("w1")
        assert found is not None
        assert (found.workflow, found.members) == (FULL, ())
        assert reader.workflow("w3") is None
        assert reader.workflow("w\0") is None


@ON_ALL_VERSIONS
def test_an_id_that_is_taken_stays_as_it_was(store: Store) -> None:
    keep(store, FULL)
    with store.transaction() as tx:
        assert tx.insert_workflows([a_workflow("w1"), a_workflow("w0")]) == {"w1"}
    with store.transaction() as tx:
        assert tx.load_workflows(["w0", "w1"]) == {"w0": a_workflow("w0"), "w1": FULL}


@ON_ALL_VERSIONS
def test_a_step_is_stored(store: Store) -> None:
    keep(store, a_workflow("w1"), a_workflow("w2"), a_workflow("w3"))
    after = [
        a_workflow(
            "w1", state="completed", progress="ccc", finished_at=START + 5, due_at=START + 9
        ),
        a_workflow("w2", progress="acp"),
    ]
    with store.transaction() as tx:
        tx.update_workflows(after)
    with store.transaction() as tx:
        found = tx.load_workflows(["w1", "w2", "w3"])
    assert list(found.values()) == [*after, a_workflow("w3")]


def test_a_step_of_a_workflow_that_is_gone_is_stale(store: Store) -> None:
    with pytest.raises(StaleWrite), store.transaction() as tx:
        tx.update_workflows([a_workflow("w1")])


@ON_ALL_VERSIONS
def test_the_request_of_a_node_serves_once(store: Store) -> None:
    text = b'{"a":"\\u0000\\u2603"}'
    waiting = WorkflowJob("w1", 2, text)
    members(store, WorkflowJob("w1", 1, None, "j1"), waiting, WorkflowJob("w2", 2, b"{}"))
    with store.transaction() as tx:
        assert tx.load_workflow_jobs([("w1", 2), ("w1", 1), ("w1", 9)]) == {
            ("w1", 1): WaitingJob(None, "j1", None, None),
            ("w1", 2): WaitingJob(text, None, None, None),
        }
        tx.update_workflow_jobs([WorkflowJob("w1", 2, job_id="j2")])
        assert tx.load_workflow_jobs([("w1", 2), ("w2", 2)]) == {
            ("w1", 2): WaitingJob(None, "j2", None, None),
            ("w2", 2): WaitingJob(b"{}", None, None, None),
        }


@ON_ALL_VERSIONS
def test_what_a_job_came_to_is_kept(store: Store) -> None:
    members(store, WorkflowJob("w1", 1, None, "j1"), WorkflowJob("w1", 2, None, "j2"))
    snow = '"☃"'.encode()
    with store.transaction() as tx:
        tx.update_workflow_jobs(
            [
                WorkflowJob("w1", 1, result=snow, ended_at=START),
                WorkflowJob("w1", 2, error=b"{}", ended_at=START + 1),
            ]
        )
        # Members that are not set keep their values.
        tx.update_workflow_jobs([WorkflowJob("w1", 1)])
    with store.transaction() as tx:
        assert tx.load_workflow_results([("w1", 1), ("w1", 2), ("w1", 3)]) == {
            ("w1", 1): (snow, None),
            ("w1", 2): (None, b"{}"),
        }
        sizes = tx.load_workflow_jobs([("w1", 1), ("w1", 2)])
        assert (sizes["w1", 1].result_size, sizes["w1", 2].error_size) == (len(snow), 2)


@ON_ALL_VERSIONS
def test_open_jobs_were_enqueued_and_have_not_ended(store: Store) -> None:
    members(
        store,
        WorkflowJob("w1", 1, None, "j1"),
        WorkflowJob("w1", 2, None, "j2", ended_at=START),
        WorkflowJob("w1", 3, b"{}"),
        WorkflowJob("w1", 4, None, "j4"),
        WorkflowJob("w2", 1, None, "j5"),
        WorkflowJob("w3", 1, None, "j6"),
    )
    with store.transaction() as tx:
        assert tx.load_open_jobs(["w1", "w2", "w9"]) == {"w1": {1: "j1", 4: "j4"}, "w2": {1: "j5"}}


@ON_ALL_VERSIONS
def test_a_job_knows_its_workflow_and_what_it_was_given(store: Store) -> None:
    stored = a_job("j1", workflow_id="w1", workflow_node=3, parent_results=b'["\\u2603"]')
    put(store, stored, a_job("j2", seq=2))
    assert whole(store, "j1") == stored
    first, second = claim(store)
    assert (first.job.workflow_id, first.job.workflow_node) == ("w1", 3)
    assert (first.parent_results, second.parent_results) == (b'["\\u2603"]', None)
    assert (second.job.workflow_id, second.job.workflow_node) == (None, None)
    with store.transaction() as tx:
        assert tx.load_jobs(["j1"])["j1"][0].workflow_id == "w1"


@ON_ALL_VERSIONS
def test_jobs_can_be_locked_without_waiting(store: Store) -> None:
    put(store, a_job("j1"), a_job("j2"))
    with store.transaction() as tx:
        assert tx.seize_jobs(["j2", "j9", "j1"]) == {
            name: record(store, name) for name in ("j1", "j2")
        }


@ON_ALL_VERSIONS
def test_a_workflow_shows_its_jobs_as_they_are(store: Store) -> None:
    keep(store, a_workflow("w1"))
    hold(store, a_lease("j2"))
    put(store, a_job("j1", state="completed", started_at=START + 1, result=b'{"n":1.0}'))
    members(
        store,
        WorkflowJob("w1", 3, b"{}"),
        WorkflowJob("w1", 2, None, "j2"),
        WorkflowJob("w1", 1, None, "j1", ended_at=START + 2),
        WorkflowJob("w1", 4, None, "gone", error=b'{"code":"x"}', ended_at=START + 3),
        WorkflowJob("w2", 1, None, "j1"),
    )
    with store.reader() as reader:
        found = reader.workflow("w1")
        assert reader.job_results(["j1", "j2", "gone"]) == {"j1": b'{"n":1.0}'}
    assert found is not None
    assert found.members == (
        MemberJob(1, "j1", START + 2, None, "completed", START + 1, 9),
        MemberJob(2, "j2", None, None, "active", None),
        MemberJob(4, "gone", START + 3, b'{"code":"x"}', None, None),
    )


@ON_ALL_VERSIONS
def test_jobs_under_way_show_what_they_have_reported_in_this_attempt(store: Store) -> None:
    keep(store, a_workflow("w1"))
    put(store, *(a_job(name, state="active", attempt=2) for name in ("j1", "j2", "j3", "j4")))
    members(
        store,
        *(WorkflowJob("w1", node, None, f"j{node}") for node in (1, 2)),
        WorkflowJob("w1", 3, None, "j3", ended_at=START),
        WorkflowJob("w1", 4, b"{}"),
        WorkflowJob("w2", 1, None, "j4"),
    )
    with store.transaction() as tx:
        tx.save_progress(
            [
                Report(f"j{number}", attempt, 0.5, None, b'{"n":1.0}', None, START, START)
                for number, attempt in ((1, 2), (2, 1), (3, 2), (4, 2))
            ]
        )
    with store.reader() as reader:
        assert reader.member_progress("w1") == [MemberProgress(1, 0.5, b'{"n":1.0}')]
        assert reader.member_progress("none") == []


def test_workflows_are_looked_at_without_a_lock(store: Store) -> None:
    keep(store, a_workflow("w1"))
    with store.transaction() as tx:
        assert tx.look_at_workflows(["w1", "none"]) == {"w1": a_workflow("w1")}


@ON_ALL_VERSIONS
def test_lists_are_newest_first_and_filtered(store: Store) -> None:
    keep(
        store,
        *(a_workflow(f"w{n}", created_at=START + n // 2, name="ab"[n % 2]) for n in range(4)),
        a_workflow("x", kind="group", state="completed", created_at=START - 1, tenant="acme"),
    )
    assert ids(page(store, WorkflowFilter(tenant="acme"))) == ["x"]
    assert page(store, WorkflowFilter(tenant="acme", kind="chain")) == WorkflowPage([], 0, False)
    assert ids(page(store)) == ["w3", "w2", "w1", "w0", "x"]
    assert ids(page(store, WorkflowFilter(state="completed"))) == ["x"]
    assert ids(page(store, WorkflowFilter(kind="chain", name="a"))) == ["w2", "w0"]
    first = page(store, WorkflowFilter(state="running"), limit=3)
    assert (ids(first), first.total, first.has_more) == (["w3", "w2", "w1"], 4, True)
    assert ids(page(store, limit=2, offset=3)) == ["w0", "x"]


@ON_ALL_VERSIONS
def test_a_list_goes_on_from_its_place(store: Store) -> None:
    keep(store, *(a_workflow(f"w{n}", created_at=START + n // 2) for n in range(4)))
    rest = page(store, after=ListPosition(START + 1, "w2"))
    assert (ids(rest), rest.total, rest.has_more) == (["w1", "w0"], 4, False)
    # Also where that one is gone since.
    with store.transaction() as tx:
        tx.delete_workflows(["w2"])
    assert ids(page(store, after=ListPosition(START + 1, "w2"))) == ["w1", "w0"]
    assert ids(page(store, WorkflowFilter(name="a\0"))) == []


@ON_ALL_VERSIONS
def test_aged_workflows_go_with_what_they_know_of_their_jobs(
    store: Store, clock: HandClock
) -> None:
    keep(
        store,
        *(a_workflow(f"w{n}", due_at=START + n) for n in range(3)),
        a_workflow("running"),
    )
    put(store, a_job("j1", workflow_id="w0", workflow_node=1))
    members(store, WorkflowJob("w0", 1, None, "j1"), WorkflowJob("w2", 1, None, "j2"))
    clock.forward(1)
    with store.transaction() as tx:
        assert tx.load_aged_workflows(1) == ["w0"]
        assert tx.load_aged_workflows(9) == ["w0", "w1"]
        tx.delete_workflows(["w0", "w1"])
    assert ids(page(store)) == ["w2", "running"]
    with store.transaction() as tx:
        assert tx.load_open_jobs(["w0", "w2"]) == {"w2": {1: "j2"}}
    assert record(store, "j1").workflow_id == "w0"


def test_a_rolled_back_transaction_leaves_nothing(store: Store) -> None:
    keep(store, a_workflow("w1"))
    with undone(store) as tx:
        tx.insert_workflows([a_workflow("w2")])
        tx.update_workflows([a_workflow("w1", state="failed")])
        tx.insert_workflow_jobs([WorkflowJob("w1", 1, b"{}")])
    with store.transaction() as tx:
        assert tx.load_workflows(["w1", "w2"]) == {"w1": a_workflow("w1")}
        assert tx.load_workflow_jobs([("w1", 1)]) == {}


def test_nothing_to_do_is_fine(store: Store) -> None:
    with store.transaction() as tx:
        assert tx.insert_workflows([]) == set()
        assert tx.load_workflows([]) == {}
        assert tx.load_workflow_jobs([]) == {}
        assert tx.load_workflow_results([]) == {}
        tx.update_workflows([])
        tx.update_workflow_jobs([])
        tx.delete_workflows([])


def test_a_thousand_jobs_are_stored_and_moved_at_once(store: Store) -> None:
    members(store, *(WorkflowJob("w1", n, b"{}") for n in range(1000)))
    with store.transaction() as tx:
        tx.update_workflow_jobs([WorkflowJob("w1", n, job_id=f"j{n}") for n in range(1000)])
        assert len(tx.load_open_jobs(["w1"])["w1"]) == 1000
        assert len(tx.load_workflow_jobs([("w1", n) for n in range(1000)])) == 1000


def test_a_wipe_takes_all(store: Store) -> None:
    keep(store, a_workflow("w1"))
    members(store, WorkflowJob("w1", 1, None, "j1"))
    with store.transaction() as tx:
        tx.wipe()
    keep(store, msgspec.structs.replace(FULL, id="w1"))
    with store.transaction() as tx:
        assert tx.load_open_jobs(["w1"]) == {}
