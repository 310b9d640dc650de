"""Counters that the database keeps beside its rows are what the rows say."""

from typing import Any

from ojs_server.domain.jobs.job import STATES
from tests.simulation.oracles import rows
from tests.simulation.oracles.stored import Stored
from tests.simulation.world import World

OWN = "WHERE queue NOT LIKE '%/%'"
# Tables with a row for each of some jobs.
BESIDE = ("leases", "checkpoints", "progress")


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    for sentence in [*of_queues(world), *of_limits(world), *of_leases(world)]:
        world.ledger.wrong("counts", sentence)


def of_queues(world: World) -> list[str]:
    """The counts of a queue say what is stored (OJS-QUE-009), and how much of it waits.

    Those of tenants, whose names have a `/`, are judged with the tenants."""
    counted = _by_queue(
        world, ", ".join(f"SUM({state}) AS {state}" for state in STATES) + ", SUM(bytes) AS bytes"
    )
    stored: dict[str, dict[str, Any]] = {}
    for row in rows.of(world, "SELECT queue, state, size FROM jobs"):
        counts = stored.setdefault(row["queue"], dict.fromkeys((*STATES, "bytes"), 0))
        counts[row["state"]] += 1
        if row["state"] in ("available", "scheduled", "retryable"):
            counts["bytes"] += row["size"]
    nothing = dict.fromkeys((*STATES, "bytes"), 0)
    return [
        f"queue {queue} counts {counted.get(queue)}, and has {stored.get(queue)}"
        for queue in sorted({*counted, *stored})
        # Counts of tenants are judged in `tenants.py`.
        if "/" not in queue and counted.get(queue, nothing) != stored.get(queue, nothing)
    ]


def _by_queue(world: World, columns: str) -> dict[str, dict[str, Any]]:
    found = {}
    for row in rows.of(world, f"SELECT queue, {columns} FROM queue_counts {OWN} GROUP BY queue"):
        queue = row.pop("queue")
        found[queue] = row
    return found


def of_limits(world: World) -> list[str]:
    """The limit of a key counts its active jobs: a place that is not given back is lost."""
    active = {
        row["rate_key"]: row["count"]
        for row in rows.of(
            world,
            "SELECT rate_key, COUNT(*) AS count FROM jobs"
            " WHERE rate_key IS NOT NULL AND state = 'active' GROUP BY rate_key",
        )
    }
    return [
        f"the limit {row['name']} counts {row['active']} jobs, {active.get(row['name'], 0)} run"
        for row in rows.of(world, "SELECT name, active FROM limits WHERE name NOT LIKE '#%'")
        if row["active"] != active.get(row["name"], 0)
    ]


def of_leases(world: World) -> list[str]:
    """A job has a lease while it is active, and nothing is left of a job that is gone."""
    found = [
        f"{row['id']} is active without a lease"
        for row in rows.of(
            world,
            "SELECT id FROM jobs WHERE state = 'active' AND id NOT IN (SELECT job_id FROM leases)",
        )
    ]
    found += [
        f"{row['job_id']} has a lease, and is not active"
        for row in rows.of(
            world,
            "SELECT job_id FROM leases"
            " WHERE job_id NOT IN (SELECT id FROM jobs WHERE state = 'active')",
        )
    ]
    for table in BESIDE:
        found += [
            f"{row['job_id']} is gone, and has a row in {table}"
            for row in rows.of(
                world, f"SELECT job_id FROM {table} WHERE job_id NOT IN (SELECT id FROM jobs)"
            )
        ]
    return found
