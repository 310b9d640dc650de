"""The message of a wait that took too long: the state of the job, and whether a worker serves
it."""

import pytest

from ojs_worker.client.waiting import Presence, overdue
from ojs_worker.job import Job

OTHER = Presence(job_types=["c.d"])


@pytest.mark.parametrize(
    ("job", "workers", "words", "served"),
    [
        ({}, [], "available in the queue q, which no worker serves", False),
        ({}, [OTHER], "available in the queue q, of which no worker takes a.b", False),
        ({}, [OTHER, Presence()], "the queue q, which is served by 1 worker", True),
        ({}, [Presence(), Presence(["a.b"])], "which is served by 2 workers", True),
        ({}, [Presence(state="quiet")], "the queue q, whose workers take no more jobs", True),
        ({}, None, "it is available in the queue q", None),
        ({"state": "active", "worker_id": "w"}, [], "in the queue q with the worker w", None),
        ({"state": "scheduled", "scheduled_at": "T"}, None, "scheduled in the queue q for T", None),
        ({"state": "retryable", "next_attempt_at": "T"}, None, "in the queue q until T", None),
    ],
)
def test_how_the_job_stands_is_said(
    job: dict[str, str], workers: list[Presence] | None, words: str, served: bool | None
) -> None:
    late = Job(**{"id": "1", "type": "a.b", "queue": "q", "state": "available", **job})  # type: ignore[arg-type]
    told = overdue("1", 2.5, late, workers)
    assert str(told).startswith("job 1 has not ended after 2.5 s: it is ")
    assert str(told).endswith(words)
    assert (told.job, told.served) == (late, served)


def test_a_server_that_tells_nothing_leaves_the_bare_fact() -> None:
    assert str(overdue("1", 1, None, None)) == "job 1 has not ended after 1 s"
