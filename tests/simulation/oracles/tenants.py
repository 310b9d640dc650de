"""Promises about tenants (spec/37-tenants.md)."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from ojs_server.domain.jobs.job import STATES
from ojs_wire.values import position_of
from tests.simulation.ledger import Told
from tests.simulation.oracles.stored import Stored

if TYPE_CHECKING:
    from tests.simulation.world import World

ENDS = ("job.completed", "job.failed", "job.cancelled", "job.released", "job.discarded")


def judge(world: "World", stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    _counters(world, stored)
    calls = [told for told in world.ledger.told if told.kind.startswith("tenant ")]
    if not calls:
        return
    owners = {job_id: row["tenant"] for job_id, row in stored.jobs.items()}
    places = {event.place: event for event in stored.events}
    for told in calls:
        tenant = told.what["tenant"]
        if told.kind == "tenant enqueue" and told.outcome == "ok":
            owner = owners.get(told.answer["id"], tenant)
            meta = (
                msgspec.json.decode(stored.jobs[told.answer["id"]]["meta"])
                if told.answer["id"] in stored.jobs
                else {"tenant_id": tenant}
            )
            if owner != tenant or meta.get("tenant_id") != tenant:
                world.ledger.wrong("tenant", f"a job of {tenant} is of {owner}, {meta}")
        answer: dict[str, Any] = told.answer or {}
        if told.outcome != "ok":
            continue
        for job_id in answer.get("ids", ()):
            if owners.get(job_id, tenant) != tenant:
                # OJS-TEN-006, OJS-TEN-008
                world.ledger.wrong("tenant", f"{tenant} got at {job_id} by {told.kind}")
        for event_id in answer.get("events", ()):
            event = places.get(position_of(event_id[4:]))
            if event is not None and event.data.get("tenant_id") != tenant:
                world.ledger.wrong("tenant", f"{tenant} read {event.type} at {event.place}")
    _concurrency(world, stored, calls)


def _counters(world: "World", stored: Stored) -> None:
    """The counters of tenants, by queue and in all, are those of their rows (OJS-TEN-008)."""
    counted: dict[str, Counter[str]] = {}
    sums = ", ".join(f"sum({state}) AS {state}" for state in STATES)
    for row in stored.rows(f"SELECT queue, {sums} FROM queue_counts GROUP BY queue"):
        # Jobs that belong to nobody are counted once there are tenants, and not before.
        if "/" in row["queue"] and not row["queue"].startswith("_default/"):
            counts = Counter({state: row[state] for state in STATES if row[state]})
            counted[row["queue"]] = counts
    known: dict[str, Counter[str]] = {}
    for row in stored.rows("SELECT tenant, queue, state FROM jobs"):
        for name in (f"{row['tenant']}/", f"{row['tenant']}/{row['queue']}"):
            known.setdefault(name, Counter())[row["state"]] += 1
    for name, counts in counted.items():
        if counts != known.get(name, Counter()):
            world.ledger.wrong(
                "tenant", f"{name} counts {dict(counts)}, and has {dict(known.get(name, {}))}"
            )


def _concurrency(world: "World", stored: Stored, calls: list[Told]) -> None:
    """No more jobs of a tenant run than its limit allows (OJS-TEN-013)."""
    limits = [told for told in calls if told.kind == "tenant limit"]
    if not limits or world.ledger.lost("/admin/tenants/"):
        return
    running: dict[str, dict[str, None]] = {}
    for event in stored.events:
        if event.place > world.ledger.tidied:
            return
        tenant = event.data.get("tenant_id")
        if not isinstance(tenant, str) or not event.type.startswith("job."):
            continue
        active = running.setdefault(tenant, {})
        if event.type == "job.started":
            active[event.subject] = None
            most = _most(limits, tenant, event.place)
            if most is not None and len(active) > most:
                world.ledger.wrong(
                    "tenant", f"{len(active)} jobs of {tenant} run at {event.place}, {most} may"
                )
                return
        elif event.type in ENDS or event.type == "job.scheduled":
            active.pop(event.subject, None)


def _most(limits: list[Told], tenant: str, place: int) -> int | None:
    """Return how many jobs may run at most, by all limits that may have held; None for any."""
    found: list[int | None] = [None]
    for told in limits:
        if told.what["tenant"] != tenant or (told.head_at or 0) > place:
            continue
        most = told.what["limits"].get("max_concurrency")
        if told.outcome == "ok" and (told.head_answered or 0) < place:
            # The last one that was answered; others that were under way then may hold as well.
            found = [most, *(_open(limits, told, tenant))]
        elif told.outcome != "refused":
            found.append(most)
    known = [most for most in found if most is not None]
    return max(known) if len(known) == len(found) else None


def _open(limits: list[Told], told: Told, tenant: str) -> list[int | None]:
    return [
        other.what["limits"].get("max_concurrency")
        for other in limits
        if other is not told
        and other.what["tenant"] == tenant
        and other.at < (told.answered_at or 0)
        and (other.answered_at or 1e9) > told.at
    ]
