"""Jobs, results and checkpoints are stored as they were sent."""

from typing import Any

import msgspec

from tests.simulation.oracles import answers, stories
from tests.simulation.oracles.answers import Answers
from tests.simulation.oracles.stored import Stored
from tests.simulation.oracles.stories import Stories, Story
from tests.simulation.world import World

_decode = msgspec.json.decode


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    told, known = stories.of(stored), answers.of(world)
    wrong = world.ledger.wrong
    for story in told.jobs.values():
        request = known.request(story.job_id)
        if request and story.row is not None:
            for sentence in as_sent(story, story.row, request):
                wrong("contents", sentence)
    for sentence in results(told, known):
        wrong("results", sentence)
    for sentence in checkpoints(told, known):
        wrong("checkpoints", sentence)


def as_sent(story: Story, row: dict[str, Any], request: dict[str, Any]) -> list[str]:
    """A job keeps what its client sent; only its priority can be changed."""
    options = request.get("options", {})
    priority = options.get("priority", 0)
    for entry in story.entries:
        if entry.type == "job.prioritized":
            priority = entry.data["priority"]
    sent = {
        "type": request["type"],
        "args": request["args"],
        "queue": options.get("queue", "default"),
        "priority": priority,
    }
    stored = {name: _decode(row[name]) if name == "args" else row[name] for name in sent}
    meta = _decode(row["meta"]) if row["meta"] else {}
    if stored != sent or any(
        meta.get(name) != value for name, value in request.get("meta", {}).items()
    ):
        return [f"{story.job_id} was sent as {sent}, and is stored as {stored} with {meta}"]
    return []


def results(told: Stories, known: Answers) -> list[str]:
    """The result that is read is that of the delivery that completed the job (OJS-SET-012)."""
    found = []
    for call in known.calls:
        if call.well and call.method == "GET" and call.path.endswith("/result"):
            story = told.jobs.get(call.answer["job_id"])
            row = None if story is None else story.row
            if row is None or call.answer["state"] != "completed":
                continue
            stored = None if row["result"] is None else _decode(row["result"])
            if call.answer.get("result") != stored:
                found.append(f"{call.who} was given {call.answer}, and {stored} is stored")
    return found


def checkpoints(told: Stories, known: Answers) -> list[str]:
    """A delivery begins with the last checkpoint that was saved before it was fetched: one that was
    answered, or a later one (OJS-CKP)."""
    saves: dict[str, list[tuple[float, float | None, Any]]] = {}
    for call in known.calls:
        if call.method == "PUT" and call.path.endswith("/checkpoint") and not call.refused:
            job_id = call.path.split("/")[2]
            answered = call.answered_at if call.well else None
            saves.setdefault(job_id, []).append((call.sent_at, answered, call.body["state"]))
    found = []
    for call in known.calls:
        jobs = call.answer.get("jobs", ()) if call.well and _fetches(call.path) else ()
        for job in jobs:
            story = told.jobs.get(job["id"])
            if story is None or story.deletions:
                continue
            if any(one.type == "dead_letter.retried" for one in story.entries):
                continue
            mine = saves.get(job["id"], [])
            before = [one for one in mine if one[1] is not None and one[1] < call.sent_at]
            if not before:
                continue
            last_sent = max(sent for sent, _, _ in before)
            possible = [state for sent, _, state in mine if sent >= last_sent]
            given = (job.get("checkpoint") or {}).get("state")
            if given not in possible:
                found.append(
                    f"{job['id']} {job['attempt']} was fetched with the checkpoint {given}, and"
                    f" {possible} had been saved"
                )
    return found


def _fetches(path: str) -> bool:
    return path in ("/workers/fetch", "/workers/settle")
