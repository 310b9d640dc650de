"""Promises about staged jobs: there is one for each committed row, and none for others."""

from tests.simulation.oracles.stored import Stored
from tests.simulation.world import World


def judge(world: World, stored: Stored) -> None:
    """Have the oracles of this subject look at the end."""
    for told in world.ledger.told:
        if told.kind != "stage" or told.answer is None:
            continue
        for job in told.what["jobs"]:
            found = [event.type for event in stored.by_subject.get(job["id"], [])]
            refused = "priority" in job
            if job["id"] not in told.answer:
                if found:
                    world.ledger.wrong("staging", f"{job['id']} was rolled back, and has {found}")
            elif not found or (found == ["job.refused"]) != refused:
                world.ledger.wrong("staging", f"{job['id']} was committed, and has {found}")
    for row in stored.rows("SELECT id FROM staged_jobs ORDER BY place"):
        world.ledger.wrong("staging", f"{row['id']} is still staged")
