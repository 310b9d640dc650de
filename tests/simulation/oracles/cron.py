"""Promises about cron entries (spec/20-cron.md)."""

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from tests.simulation.ledger import Told
from tests.simulation.oracles.stored import Stored, StoredEvent, ended

if TYPE_CHECKING:
    from tests.simulation.world import World

# Longest time after its moment at which a calm server fires, in milliseconds.
LATE_MS = 1500
CHANGES = ("cron put", "cron pause", "cron resume", "cron delete", "cron trigger")
Wrong = Callable[[str], None]


def judge(world: "World", stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    told: dict[str, list[Told]] = {}
    for one in world.ledger.told:
        if one.kind in CHANGES:
            told.setdefault(one.what["name"], []).append(one)
    if not told:
        return
    runs: dict[str, list[StoredEvent]] = {}
    for event in stored.events:
        if event.type in ("cron.triggered", "cron.skipped"):
            runs.setdefault(event.subject, []).append(event)
    for name, calls in told.items():

        def wrong(sentence: str, name: str = name) -> None:
            world.ledger.wrong("cron", f"{name}: {sentence}")

        fired = runs.get(name, [])
        _moments(wrong, fired)
        _jobs(stored, wrong, fired)
        _counted(wrong, fired, calls)
        _by_hand(stored, wrong, fired, calls)
        _overlaps(stored, wrong, fired, calls[0].what["overlap"])
        if not _may_come_late(world, name):
            _silences(wrong, fired, calls)
    _without_event(world, stored, runs)
    _calm(world, stored, runs)


def moment(text: str) -> int:
    """Return a timestamp in milliseconds."""
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def next_due(expression: str, after: int) -> int:
    """Return the next moment after one that was due; only for expressions that are drawn."""
    if expression.startswith("@every "):
        return after + int(expression.removeprefix("@every ").removesuffix("s")) * 1000
    first = expression.split()[0]
    step = 60_000 if len(expression.split()) == 5 else int(first.removeprefix("*/")) * 1000
    return (after // step + 1) * step


def _moments(wrong: Wrong, fired: list[StoredEvent]) -> None:
    """Each due time fires once, and only the newest that was missed (OJS-CRN-021, 024)."""
    seen: dict[int, int] = {}
    for event in fired:
        if event.data.get("manual") or event.data.get("reason") == "dst_skip":
            continue
        at, now = moment(event.data["scheduled_at"]), moment(event.data["actual_time"])
        if at in seen:
            wrong(f"{event.data['scheduled_at']} fired at {seen[at]} and at {event.place}")
        seen[at] = event.place
        expression = event.data["cron_expression"]
        if at > now:
            wrong(f"{event.place} fired {at - now} ms before its time")
        elif next_due(expression, at) <= now:
            wrong(f"{event.place} is not the newest time that was due")
        if not expression.startswith("@") and next_due(expression, at - 1) != at:
            wrong(f"{event.place} fired at {event.data['scheduled_at']}, not due by {expression}")


def _jobs(stored: Stored, wrong: Wrong, fired: list[StoredEvent]) -> None:
    """A run stores its job in the same transaction, with its due time (OJS-CRN-022, 025)."""
    for event in fired:
        if event.type != "cron.triggered":
            continue
        job_id = event.data["job_id"]
        events = stored.by_subject.get(job_id, [])
        row = stored.jobs.get(job_id)
        if row is None:
            if not any(one.type in ("job.deleted", "dead_letter.deleted") for one in events):
                wrong(f"the job {job_id} of {event.place} is not there")
            continue
        # A run that was held back has its first event later.
        first = events[0] if events and not event.data["waiting"] else None
        if first is not None and first.at != event.at and first.type != "job.cancelled":
            wrong(f"the job {job_id} was not made with its run at {event.place}")
        meta = msgspec.json.decode(row["meta"])
        if meta.get("cron_scheduled_at") != event.data["scheduled_at"]:
            wrong(f"the job {job_id} is of {meta.get('cron_scheduled_at')}, not {event.data}")


def _without_event(world: "World", stored: Stored, runs: dict[str, list[StoredEvent]]) -> None:
    """Each job of an entry has its run."""
    known = dict.fromkeys(event.data.get("job_id") for events in runs.values() for event in events)
    for job_id, row in stored.jobs.items():
        if b"cron_name" in row["meta"].encode() and job_id not in known:
            world.ledger.wrong("cron", f"the job {job_id} has no run")


def _counted(wrong: Wrong, fired: list[StoredEvent], calls: list[Told]) -> None:
    """`run_count` counts each run of an entry, from its registration on."""
    count = 0
    for event in fired:
        if event.type != "cron.triggered":
            continue
        now = event.data["run_count"]
        deleted = any(
            one.kind == "cron delete" and (one.head_at or 0) <= event.place for one in calls
        )
        if now != count + 1 and not (now == 1 and deleted):
            wrong(f"run {now} at {event.place} came after run {count}")
        count = now


def _by_hand(stored: Stored, wrong: Wrong, fired: list[StoredEvent], calls: list[Told]) -> None:
    known = dict.fromkeys(event.data.get("job_id") for event in fired if event.data.get("manual"))
    for one in calls:
        if one.kind == "cron trigger" and one.outcome == "ok" and one.answer["id"] not in known:
            wrong(f"it was run by hand at {one.at:g}, and there is no run of {one.answer['id']}")


def _overlaps(stored: Stored, wrong: Wrong, fired: list[StoredEvent], policy: str) -> None:
    """The policy decides about a due time while the run before has not ended (OJS-CRN-029)."""
    before: StoredEvent | None = None
    for event in fired:
        if event.type == "cron.skipped":
            existing = event.data.get("existing_job_id")
            if event.data["reason"] == "overlap_skip" and policy == "skip" and existing:
                events = stored.by_subject.get(existing, [])
                if ended(events, event.place) and not any(one.at == event.at for one in events):
                    wrong(f"{event.place} was skipped, though {existing} had ended")
            elif event.data["reason"] == "overlap_skip" and policy in ("allow", "cancel_previous"):
                wrong(f"{event.place} was skipped under {policy}")
            continue
        if event.data["run_count"] == 1:
            before = None
        if before is not None:
            _overlap(stored, wrong, before, event, policy)
        before = event


def _overlap(
    stored: Stored, wrong: Wrong, before: StoredEvent, event: StoredEvent, policy: str
) -> None:
    earlier = stored.by_subject.get(before.data["job_id"], [])
    if policy in ("skip", "cancel_previous"):
        # The cancel is a part of the same transaction.
        last = max((one.place for one in earlier if one.at == event.at), default=0)
        if earlier and not ended(earlier, max(last, event.place)):
            wrong(f"{event.place} ran under {policy}, though {before.data['job_id']} had not ended")
    elif policy == "enqueue":
        later = stored.by_subject.get(event.data["job_id"], [])
        joined = next((one for one in later if one.type == "job.enqueued"), None)
        if joined is not None and earlier and not ended(earlier, joined.place):
            wrong(f"{event.data['job_id']} joined its queue before {before.data['job_id']} ended")


def _may_come_late(world: "World", name: str) -> bool:
    """Tell whether a call that lets an entry fire got no answer, and may be carried out later."""
    return any(
        exchange.status == 0
        and (
            exchange.path == f"/ojs/v1/cron/{name}/resume"
            or (exchange.path == "/ojs/v1/cron" and f'"{name}"'.encode() in (exchange.body or b""))
        )
        for exchange in world.ledger.exchanges
    )


def _silences(wrong: Wrong, fired: list[StoredEvent], calls: list[Told]) -> None:
    """Between an answered pause or delete and the next resume or registration nothing fires."""
    for one in calls:
        if one.outcome != "ok" or one.kind not in ("cron pause", "cron delete"):
            continue
        others = [other for other in calls if other is not one and other.kind != "cron trigger"]
        if any(_meet(one, other) for other in others):
            continue
        ends = ("cron put",) if one.kind == "cron delete" else ("cron resume", "cron delete")
        begins = [
            other.head_at or 0 for other in others if other.kind in ends and other.at > one.at
        ]
        until = min(begins, default=1 << 62)
        for event in fired:
            if (one.head_answered or 0) < event.place <= until and not event.data.get("manual"):
                wrong(f"it fired at {event.place}, after {one.kind} was answered")


def _meet(one: Told, other: Told) -> bool:
    """Tell whether two calls were under way at the same time."""
    return other.at <= (one.answered_at or 1e9) and one.at <= (other.answered_at or 1e9)


def _calm(world: "World", stored: Stored, runs: dict[str, list[StoredEvent]]) -> None:
    """In the calm nothing that is due is missed or late (OJS-CRN-023)."""
    calm = world.ledger.calm
    if calm is None or world.ledger.lost("/maintenance"):
        return
    for entry in calm.entries:
        if not entry["enabled"]:
            continue
        name, expression = entry["name"], entry["expression"]
        fired = [
            event
            for event in runs.get(name, [])
            if calm.first < event.place <= calm.last and not event.data.get("manual")
        ]
        moments = [moment(event.data["scheduled_at"]) for event in fired]
        for event, at in zip(fired, moments, strict=True):
            late = moment(event.data["actual_time"]) - at
            if late > LATE_MS:
                world.ledger.wrong("cron", f"{name}: in the calm {event.place} was {late} ms late")
        for before, after in pairwise(moments):
            if next_due(expression, before) != after:
                world.ledger.wrong("cron", f"{name}: in the calm {before} went before {after}")
        interval = next_due(expression, next_due(expression, 0)) - next_due(expression, 0)
        if len(moments) < calm.seconds * 1000 // interval - 1:
            world.ledger.wrong("cron", f"{name}: {len(moments)} runs of {expression} in the calm")
