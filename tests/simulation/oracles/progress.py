"""Promises about progress (spec/26-progress.md)."""

from typing import TYPE_CHECKING

import msgspec

from tests.simulation.ledger import Followed
from tests.simulation.oracles.stored import Stored

if TYPE_CHECKING:
    from tests.simulation.world import World

ENDS = {"completed": "completed", "discarded": "failed", "cancelled": "cancelled"}


def judge(world: "World", stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    ledger = world.ledger
    best = _rising(world, stored)
    for followed in ledger.followed:
        if followed.kind == "progress":
            _stream(world, stored, followed)
        elif followed.kind == "statistics":
            _statistics(world, stored, followed)
    _answers(world, best)


def _rising(world: "World", stored: Stored) -> dict[tuple[str, int], float]:
    """Within one attempt the value never falls, and was reported (OJS-PRG-005); returns the
    greatest one of each attempt."""
    reported: dict[tuple[str, int], list[float]] = {}
    for report in world.ledger.reports:
        reported.setdefault((report.job_id, report.attempt), []).append(report.share)
    best: dict[tuple[str, int], float] = {}
    for event in stored.events:
        if event.type != "job.progress":
            continue
        place = (event.subject, event.data["attempt"])
        value = event.data["progress_percent"] / 100
        if value < best.get(place, 0.0):
            world.ledger.wrong(
                "progress", f"{place} fell to {value} at {event.place}, after {best[place]}"
            )
        shares = reported.get(place, [])
        if not any(abs(share - value) < 1e-6 for share in shares):
            world.ledger.wrong(
                "progress", f"{place} is at {value}, which nobody reported: {shares}"
            )
        best[place] = max(value, best.get(place, 0.0))
    return best


def _answers(world: "World", best: dict[tuple[str, int], float]) -> None:
    """A value that is read was reported, is 1 at the end, or nothing (OJS-PRG-015)."""
    shares: dict[str, dict[float, None]] = {}
    for report in world.ledger.reports:
        shares.setdefault(report.job_id, {})[report.share] = None
    for told in world.ledger.told:
        if told.kind != "progress" or told.outcome != "ok" or told.answer is None:
            continue
        value = told.answer["progress"]
        if told.answer["state"] == "completed" and value not in (None, 1.0):
            # OJS-PRG-013
            world.ledger.wrong("progress", f"{told.answer} was read of a completed job")
        if value not in (None, 1.0, 0.0) and value not in shares.get(told.answer["id"], {}):
            world.ledger.wrong("progress", f"{told.answer} was read, and never reported")


def _stream(world: "World", stored: Stored, followed: Followed) -> None:
    """A progress stream never goes back within an attempt, and ends as the job does
    (OJS-PRG-019)."""
    job = stored.jobs.get(followed.subject or "")
    if job is None:
        return

    def wrong(sentence: str) -> None:
        world.ledger.wrong("progress", f"the stream of {followed.subject}: {sentence}")

    events = stored.by_subject.get(job["id"], [])
    deliveries = sum(event.type == "job.started" for event in events)
    falls, last = 0, 0.0
    for frame in followed.frames:
        if frame.event == "progress":
            value = msgspec.json.decode(frame.data)["progress"] or 0.0
            falls += value < last
            last = value
    if falls >= max(1, deliveries):
        wrong(f"it fell {falls} times in {deliveries} deliveries")
    revived = any(event.type == "dead_letter.retried" for event in events)
    if not followed.over or revived:
        return
    shown = [frame.event for frame in followed.frames]
    if shown[-1:] != [ENDS.get(job["state"])] and "server.shutdown" not in shown:
        wrong(f"it ended with {shown[-3:]}, and the job is {job['state']}")


def _statistics(world: "World", stored: Stored, followed: Followed) -> None:
    """The last metrics of a stream that was open to the end are those of the rows (OJS-ADM-022)."""
    last = next((frame for frame in reversed(followed.frames) if frame.event == "metrics"), None)
    if last is None:
        world.ledger.wrong("statistics", "the stream had no metrics")
        return
    if last.at < world.loop.now - 15:
        world.ledger.wrong("statistics", f"the stream fell silent at {last.at:g} s")
        return
    shown = msgspec.json.decode(last.data)["jobs"]
    states = [row["state"] for row in stored.jobs.values()]
    for state, number in shown.items():
        if number != states.count(state):
            world.ledger.wrong(
                "statistics", f"the stream says {number} {state}, and {states.count(state)} are"
            )
