"""Promises about workflows (spec/22-workflows.md)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from tests.simulation.ledger import Told
from tests.simulation.oracles import flow_model as model
from tests.simulation.oracles.stored import Row, Stored, StoredEvent

if TYPE_CHECKING:
    from tests.simulation.world import World

STARTS = ("flow start", "flow start graph")
ENDS = ("workflow.completed", "workflow.failed", "workflow.cancelled")
TERMINAL = {
    "job.completed": model.WELL,
    "job.discarded": model.BADLY,
    "job.cancelled": model.BADLY,
}
Wrong = Callable[[str], None]


def judge(world: "World", stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    starts = {told.what["name"]: told for told in world.ledger.told if told.kind in STARTS}
    if not starts:
        return
    rows = stored.rows("SELECT id, name, state FROM workflows ORDER BY id")
    names: dict[str, list[Row]] = {}
    for row in rows:
        names.setdefault(row["name"], []).append(row)
    jobs: dict[str, dict[str, list[Row]]] = {}
    for job in stored.jobs.values():
        if job["workflow_id"] is not None:
            key = msgspec.json.decode(job["args"])[0]
            jobs.setdefault(job["workflow_id"], {}).setdefault(key, []).append(job)
    kept = _kept(stored)
    for name, told in starts.items():

        def wrong(sentence: str, name: str = name) -> None:
            world.ledger.wrong("workflow", f"{name}: {sentence}")

        found = names.get(name, [])
        if len(found) > 1 or (told.outcome == "ok" and not found):
            wrong(f"its start was {told.outcome}, and it is stored {len(found)} times")
        for row in found:
            _workflow(
                world, stored, wrong, told, row, jobs.get(row["id"], {}), kept=row["id"] in kept
            )


def _workflow(
    world: "World",
    stored: Stored,
    wrong: Wrong,
    told: Told,
    row: Row,
    jobs: dict[str, list[Row]],
    *,
    kept: bool,
) -> None:
    root = model.Step(told.what["flow"], None, ())
    keys = {leaf.key: leaf for leaf in root.leaves()}
    for key, made in jobs.items():
        if key not in keys or len(made) > 1:
            wrong(f"step {key} was enqueued {len(made)} times")
            return
    events = stored.by_subject.get(row["id"], [])
    retried = [event for event in events if event.type == "workflow.retried"]
    ends = {
        key: _end(stored.by_subject.get(made["id"], []), retried, made)
        for key, (made,) in jobs.items()
    }
    _seen(world, wrong, row["id"], retried=bool(retried))
    _events(wrong, row, events)
    if row["state"] == "running":
        wrong("it runs, though everything has ended")
        return
    if not kept:
        # A job of it was deleted: what it was cannot be told any more.
        return
    if row["state"] == "cancelled":
        _cancelled(stored, wrong, events, ends)
        return
    course = model.Course(root, ends)
    for sentence in course.wrongs:
        wrong(sentence)
    expected = "completed" if course.outcome == model.WELL else "failed"
    if row["state"] != expected:
        wrong(f"it is {row['state']}, and should be {expected}")
    if not retried:
        _counts(wrong, course, events)
        _results(world, wrong, course, jobs)


def _kept(stored: Stored) -> dict[str, None]:
    """Return the workflows all of whose jobs are still there."""
    kept: dict[str, None] = {}
    gone: list[str] = []
    for row in stored.rows("SELECT workflow_id, job_id FROM workflow_jobs ORDER BY workflow_id"):
        kept.setdefault(row["workflow_id"])
        if row["job_id"] is not None and row["job_id"] not in stored.jobs:
            gone.append(row["workflow_id"])
    return {flow_id: None for flow_id in kept if flow_id not in gone}


def _end(events: list[StoredEvent], retried: list[StoredEvent], job: Row) -> model.StepEnd:
    """Return how the step of a job ended: by its first end, and the next one after each retry of
    the workflow that began it anew. Other retries change nothing (OJS-WFL-020)."""
    moments = {event.at for event in retried}
    outcome, place = model.OPEN, 0
    for event in events:
        if event.type == "dead_letter.retried" and event.at in moments:
            outcome = model.OPEN
        elif event.type in TERMINAL and outcome == model.OPEN:
            outcome, place = TERMINAL[event.type], event.place
    made = events[0].place if events else 0
    result = None if job["result"] is None else msgspec.json.decode(job["result"])
    return model.StepEnd(job["id"], made, outcome, place, result)


def _events(wrong: Wrong, row: Row, events: list[StoredEvent]) -> None:
    """A workflow is created and started once, and ends once, or once more after each retry."""
    kinds = [event.type for event in events]
    if kinds[:2] != ["workflow.created", "workflow.started"]:
        wrong(f"its events begin with {kinds[:2]}")
    ended: str | None = None
    for event in events[2:]:
        if event.type == "workflow.retried":
            if ended != "workflow.failed":
                wrong(f"it was retried at {event.place}, after {ended}")
            ended = None
        elif ended is not None:
            wrong(f"{event.type} at {event.place} came after {ended}")
        elif event.type in ENDS:
            ended = event.type
        elif event.type in ("workflow.created", "workflow.started"):
            wrong(f"{event.type} came again at {event.place}")
    state = "running" if ended is None else ended.partition(".")[2]
    if state != row["state"]:
        wrong(f"it is {row['state']}, and {state} by its events")


def _cancelled(
    stored: Stored, wrong: Wrong, events: list[StoredEvent], ends: dict[str, model.StepEnd]
) -> None:
    """A cancelled workflow enqueues nothing more, and its jobs that nobody holds are cancelled in
    the same transaction (OJS-WFL-033)."""
    at = next((event for event in events if event.type == "workflow.cancelled"), None)
    if at is None:
        return
    for key, end in ends.items():
        if end.made > at.place:
            wrong(f"step {key} was enqueued after the cancel")
        state = "waiting"
        for event in stored.by_subject.get(end.job_id, []):
            if event.at == at.at and event.type == "job.cancelled":
                state = "revoked"
            if event.place > at.place:
                break
            if event.type == "job.started":
                state = "held"
            elif event.type in TERMINAL and state != "revoked":
                state = "ended"
            elif event.type in ("job.retrying", "job.released", "job.enqueued", "job.failed"):
                state = "waiting"
        if state == "waiting":
            wrong(f"step {key} waited, and was not cancelled with the workflow")


def _counts(wrong: Wrong, course: model.Course, events: list[StoredEvent]) -> None:
    """There is one event for each step that ended, and for each callback that ran."""
    well, badly, fired = course.counts()
    for kind, expected in (
        ("workflow.step_completed", well),
        ("workflow.step_failed", badly),
        ("workflow.callback_fired", fired),
    ):
        found = sum(event.type == kind for event in events)
        if found != expected:
            wrong(f"{found} events {kind}, and {expected} by its steps")


def _results(
    world: "World", wrong: Wrong, course: model.Course, jobs: dict[str, list[Row]]
) -> None:
    """A step is given the results of those before it, as they are stored (OJS-WFL-022 to 024), and
    a worker is handed what is stored."""
    handed: dict[str, list[Any]] = {}
    for one in world.ledger.handed:
        handed.setdefault(one.job_id, []).append(one.parent_results)
    for leaf in course.root.leaves():
        for row in jobs.get(leaf.key or "", []):
            given = msgspec.json.decode(row["parent_results"])
            expected = course.given(leaf)
            if model.without_errors(given) != expected:
                wrong(f"step {leaf.key} was given {given}, and not {expected}")
            for seen in handed.get(row["id"], []):
                if seen != given:
                    wrong(f"the handler of step {leaf.key} was given {seen}, and not {given}")


def _seen(world: "World", wrong: Wrong, flow_id: str, *, retried: bool) -> None:
    """A workflow never goes back in what is told of it, unless it is retried."""
    if retried:
        return
    answers = [
        told
        for told in world.ledger.told
        if told.kind == "flow get"
        and told.outcome == "ok"
        and (told.answer or {}).get("id") == flow_id
    ]
    for earlier in answers:
        for later in answers:
            if (earlier.answered_at or 0) < later.at:
                before, after = earlier.answer, later.answer
                if after["completed"] < before["completed"] or (
                    before["state"] != "running" and after["state"] != before["state"]
                ):
                    wrong(f"it was {before} at {earlier.answered_at}, and {after} at {later.at}")
