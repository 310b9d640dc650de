"""What the database does with this store's statements: it plans them a few times, and not each time
that they are carried out."""

from contextlib import closing
from typing import Any

import psycopg
import pytest

from ojs_server.domain.workers import WorkerState
from ojs_server.ops.beat import Beat
from ojs_server.ops.claim import Claim
from ojs_server.ops.settle import Ack
from ojs_server.store.postgres import connect
from ojs_server.store.postgres.statements import PLANNED_FOR, STATEMENTS
from ojs_server.store.postgres.store import PostgresStore
from tests.ops.bench import Bench, HandClock, enqueue
from tests.postgres import uncounted

# So often the database plans a statement for what it is given, before it looks for a better way.
AT_FIRST = 5
RUNNING = WorkerState.RUNNING
PLANNED = "SELECT statement FROM pg_prepared_statements WHERE custom_plans > %s"


class Noted(psycopg.Connection[Any]):
    """Remembers the connections that were made."""

    made: list["Noted"] = []  # noqa: RUF012

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.made.append(self)


@pytest.mark.parametrize("jobs", [1, 3, PLANNED_FOR + 2])
def test_batches_are_not_planned_each_time(
    postgres_store: str, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setattr(connect, "DRIVER", Noted)
    monkeypatch.setattr(Noted, "made", [])
    with closing(PostgresStore(postgres_store)) as store:
        # The readers' pool makes its connections meanwhile.
        writer = Noted.made[0]
        # New statistics would be a reason to plan anew.
        uncounted(postgres_store)
        bench = Bench(store, HandClock())
        for _ in range(2 * AT_FIRST):
            bench.commit(*(enqueue() for _ in range(jobs)))
            claims = [Claim(("q",), worker_id=f"w{n}") for n in range(jobs)]
            held = [one[0].lease for one in bench.commit(*claims).outcomes]
            bench.commit(*(Beat(str(one.worker_id), RUNNING, False, (one.job_id,)) for one in held))
            bench.commit(*(Ack(one.job_id, worker_id=one.worker_id) for one in held), *claims)
        assert writer.execute(PLANNED, (AT_FIRST,)).fetchall() == []


def test_few_rows_are_repeated_where_that_changes_nothing() -> None:
    repeated = STATEMENTS["load_jobs"].packed([("a", "b")])
    assert repeated == STATEMENTS["load_jobs"].packed([("a", *"b" * (PLANNED_FOR - 1))])
    assert STATEMENTS["load_jobs"].packed([()]) != repeated
    once, twice = ([(one,) * count for one in ("t", "p", "1.0")] for count in (1, 2))
    assert STATEMENTS["load_receipts"].packed(once) != STATEMENTS["load_receipts"].packed(twice)
