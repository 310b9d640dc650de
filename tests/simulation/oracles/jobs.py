"""Promises about single jobs: they are kept, they end once, and whoever is told that one is done
can rely on it."""

from typing import Any

import msgspec

from tests.simulation.oracles import answers, stories
from tests.simulation.oracles.answers import Answers, Call
from tests.simulation.oracles.stored import Stored
from tests.simulation.oracles.stories import Stories, Story
from tests.simulation.world import World

# A call of one of these may have removed jobs.
_REMOVING = ("/jobs/bulk/delete", "/dead-letter")


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    told, known = stories.of(stored), answers.of(world)
    wrong = world.ledger.wrong
    for sentence in legal(told):
        wrong("lifecycle", sentence)
    for sentence in kept(told, known):
        wrong("accepted", sentence)
    for sentence in refused(told, known):
        wrong("refused", sentence)
    for sentence in repeated(known):
        wrong("repeated", sentence)
    for sentence in whole(told, known):
        wrong("batch", sentence)
    for sentence in settled(told, known):
        wrong("settled", sentence)
    for sentence in over(world, told, known):
        wrong("over", sentence)


def legal(told: Stories) -> list[str]:
    """Each event of a job follows the one before as the lifecycle says, and the row is as the last
    of them left it (OJS-LIF-001 to 018): the job ends once, or again after a dead-letter retry."""
    found = []
    for story in told.jobs.values():
        found += [f"{story.job_id}: {sentence}" for sentence in story.strange[:1]]
        row, last = story.row, story.last
        if row is None:
            # Nothing is kept for less than an hour: only a call can remove a job.
            if last.state != "absent":
                found.append(f"{story.job_id} is gone, and was {last.state}")
        elif row["state"] not in _possible(story) or row["attempt"] != last.attempt:
            found.append(
                f"{story.job_id} is stored as {row['state']} {row['attempt']}, and its events end"
                f" with {last.state} {last.attempt}"
            )
    return found


def _possible(story: Story) -> set[str]:
    states = {story.last.state}
    if len(story.places) > 1 and story.places[-2].state == "retryable":
        states.add("retryable")
    return states


def kept(told: Stories, known: Answers) -> list[str]:
    """A job whose enqueue was answered is there for ever after, also across crashes
    (OJS-DUR-001, OJS-ENQ-003)."""
    found = []
    for call in known.calls:
        if call.well:
            for job_id in _accepted(call):
                if job_id not in told.jobs:
                    found.append(f"{job_id} was accepted at {call.answered_at} and is unknown")
    return found


def _accepted(call: Call) -> list[str]:
    if call.method != "POST":
        return []
    match call.path:
        case "/jobs":
            return [call.answer["job"]["id"]]
        case "/jobs/batch":
            return [job["id"] for job in call.answer["jobs"]]
        case "/jobs/bulk":
            return [item["job"]["id"] for item in call.answer["items"] if "job" in item]
    return []


def refused(told: Stories, known: Answers) -> list[str]:
    """A refused enqueue stores nothing (OJS-ENQ-016, OJS-ERR-006), if no other try of it is
    unknown."""
    found = []
    for job_id, tries in known.enqueues.items():
        calls = [call for call, _ in tries]
        if all(call.denied for call in calls) and job_id in told.jobs:
            found.append(f"{job_id} was refused with {calls[-1].status} and is stored")
    return found


def repeated(known: Answers) -> list[str]:
    """A job that is sent again with its id is no duplicate of itself (OJS-IDM-004)."""
    found = []
    for job_id, tries in known.enqueues.items():
        requests = [job for _, job in tries]
        if "unique" in requests[0].get("options", {}) or any(
            other != requests[0] for other in requests[1:]
        ):
            continue
        for call, _ in tries:
            if call.path == "/jobs" and call.status == 409 and _code(call) == "duplicate":
                found.append(f"{job_id} was refused at {call.answered_at} as one that is there")
    return found


def _code(call: Call) -> str | None:
    code: str | None = call.answer.get("error", {}).get("code")
    return code


def whole(told: Stories, known: Answers) -> list[str]:
    """A batch is stored whole or not at all (OJS-ENQ-019), whatever became of its answer."""
    found = []
    for call in known.calls:
        if call.method == "POST" and call.path == "/jobs/batch":
            jobs = call.body["jobs"]
            if any("unique" in job.get("options", {}) for job in jobs):
                # An item may have met a job that was there.
                continue
            there = [job["id"] in told.jobs for job in jobs]
            if any(there) and not all(there):
                found.append(f"{sum(there)} of {len(there)} jobs of a batch are stored: {jobs}")
    return found


def settled(told: Stories, known: Answers) -> list[str]:
    """An answered ACK has completed that delivery of the job, with its result, for good; an
    answered FAIL has ended it (OJS-SET-011, OJS-SET-015, OJS-SET-026)."""
    found = []
    for call in known.calls:
        for given, answer in _settlements(call):
            story = told.jobs.get(given["job_id"])
            if story is None:
                found.append(f"{given['job_id']} was settled and is unknown")
            elif answer.get("repeated"):
                continue
            elif given["outcome"] == "ack":
                found += _acked(story, call, given)
            elif not any(
                one.attempt == answer["attempt"] and one.ended is not None
                for one in story.deliveries
            ):
                found.append(f"FAIL of {story.job_id} {given['attempt']} was answered in vain")
    return found


def _acked(story: Story, call: Call, given: dict[str, Any]) -> list[str]:
    done = [entry for entry in story.entries if entry.type == "job.completed"]
    name = f"the ACK of {story.job_id} {given.get('attempt')} at {call.answered_at}"
    if not 1 <= len(done) <= 1 + story.deletions:
        return [f"{name} was answered, and it was completed {len(done)} times"]
    if story.deletions:
        return []
    if given.get("attempt") not in (None, done[0].data["attempt"]):
        return [f"{name} was answered, and attempt {done[0].data['attempt']} has completed it"]
    if given.get("worker_id") not in (None, done[0].data["worker_id"]):
        return [f"{name} was answered, and {done[0].data['worker_id']} has completed it"]
    row = story.row
    if row is not None and "result" in given:
        stored = None if row["result"] is None else msgspec.json.decode(row["result"])
        if stored != given["result"]:
            return [f"{name} had the result {given['result']}, and {stored} is stored"]
    return []


def _settlements(call: Call) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the settlements that were accepted, as they were sent and as they were answered."""
    if not call.well or call.method != "POST":
        return []
    body, answer = call.body, call.answer
    match call.path:
        case "/workers/ack":
            return [({**body, "outcome": "ack"}, answer)]
        case "/workers/nack":
            return [({**body, "outcome": "fail"}, answer)]
        case "/workers/settle":
            return [
                ({**given, "worker_id": body["worker_id"]}, shown)
                for given, shown in zip(body.get("results", ()), answer["results"], strict=True)
                if "error" not in shown
            ]
    return []


def over(world: World, told: Stories, known: Answers) -> list[str]:
    """After an answered ACK nothing runs of the same or a later delivery, and after an answered
    CANCEL or delete nothing is fetched."""
    ended: dict[str, tuple[float, int]] = {}
    for call in known.calls:
        for given, answer in _settlements(call):
            if given["outcome"] == "ack":
                ended.setdefault(given["job_id"], (call.answered_at or 0.0, answer["attempt"]))
    found = []
    for start in world.ledger.starts:
        story = told.jobs.get(start.job_id)
        if start.job_id in ended and (story is None or not story.deletions):
            at, attempt = ended[start.job_id]
            if start.at > at and start.attempt >= attempt:
                found.append(
                    f"{start.worker} runs {start.job_id} {start.attempt} at {start.at:.3f}, and the"
                    f" ACK of {attempt} was answered at {at:.3f}"
                )
    return found
