"""Planning of this store's statements: each is planned a few times, not at every execution."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ojs_server.domain.workers.worker import WorkerState
from ojs_server.ops.jobs.settle import Ack
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.heartbeat import Beat
from ojs_server.store.postgres import connect
from ojs_server.store.postgres import writer as writers
from ojs_server.store.postgres.bounded import BoundedConnection
from ojs_server.store.postgres.pipe import Pipe
from ojs_server.store.postgres.statements import PLANNED_FOR, STATEMENTS
from ojs_server.store.postgres.store import PostgresStore
from tests.ops.bench import Bench, HandClock, enqueue
from tests.postgres import uncounted

# Executions that PostgreSQL plans for their values, before it considers a generic plan.
AT_FIRST = 5
RUNNING = WorkerState.RUNNING
READ = "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'jobs'"
_COUNTED = re.compile(r"\bIN \(\s*SELECT[^()]*LIMIT[^()]*FOR UPDATE")
PLANNED = "SELECT statement FROM pg_prepared_statements WHERE custom_plans > %s"


class Noted(BoundedConnection):
    """Remembers the connections that were made."""

    made: list["Noted"] = []  # noqa: RUF012

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.made.append(self)


class Watched:
    """A store, the connection with which it writes, and another one to the same database."""

    def __init__(self, store: PostgresStore, writer: Noted, other: psycopg.Connection[Any]) -> None:
        self.bench = Bench(store, HandClock())
        self._writer = writer
        self._other = other

    def count_rows(self) -> None:
        """Let the database know what there is, and what not any more."""
        self._other.execute("VACUUM (ANALYZE)")

    def planned_often(self) -> list[Any]:
        """Return the statements that were planned for their parameters more than a few times."""
        return self._writer.execute(PLANNED, (AT_FIRST,)).fetchall()

    def entries_read(self) -> int:
        """Return the number of index entries of jobs that were read so far."""
        self._writer.execute("SELECT pg_stat_force_next_flush()")
        return int(self._other.execute(READ).fetchall()[0][0])


@pytest.fixture
def watched(postgres_store: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """A store whose tables nobody counts meanwhile."""
    monkeypatch.setattr(connect, "DRIVER", Noted)
    monkeypatch.setattr(Noted, "made", [])
    with (
        psycopg.connect(postgres_store, autocommit=True) as other,
        closing(PostgresStore(postgres_store)) as store,
    ):
        # The pool of readers connects in the background.
        writer = Noted.made[0]
        # New statistics would be a reason to plan anew.
        uncounted(postgres_store)
        yield Watched(store, writer, other)


@pytest.mark.parametrize("jobs", [1, 3, PLANNED_FOR + 2])
def test_batches_are_not_planned_each_time(watched: Watched, jobs: int) -> None:
    bench = watched.bench
    for _ in range(2 * AT_FIRST):
        bench.commit(*(enqueue() for _ in range(jobs)))
        claims = [Claim(("q",), worker_id=f"w{n}") for n in range(jobs)]
        held = [one[0].lease for one in bench.commit(*claims).outcomes]
        bench.commit(*(Beat(str(one.worker_id), RUNNING, False, (one.job_id,)) for one in held))
        bench.commit(*(Ack(one.job_id, worker_id=one.worker_id) for one in held), *claims)
    assert watched.planned_often() == []


def test_a_batch_of_acks_and_fetches_asks_the_database_three_times(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its beginning with the rows to lock, for the jobs to hand out, and at its end."""
    claims = [Claim(("q",), worker_id=f"w{n}") for n in range(3)]
    watched.bench.commit(*(enqueue() for _ in range(6)))
    held = [one[0].lease for one in watched.bench.commit(*claims).outcomes]
    asked = 0
    flush = Pipe._flush

    def counted(pipe: Pipe) -> None:
        nonlocal asked
        asked += 1
        flush(pipe)

    monkeypatch.setattr(Pipe, "_flush", counted)
    acks = [Ack(one.job_id, worker_id=one.worker_id) for one in held]
    assert len(watched.bench.commit(*acks, *claims).outcomes) == 6
    assert asked == 3


@pytest.mark.parametrize("job_types", [None, ("t", "other")])
@pytest.mark.parametrize("count", [1, 3, 12])
def test_claims_read_little_beside_many_jobs_and_are_not_planned_each_time(
    watched: Watched, count: int, job_types: tuple[str, ...] | None
) -> None:
    many = 1500
    watched.bench.commit(*(enqueue() for _ in range(many)))
    watched.count_rows()
    claim = Claim(("q",), count=count, worker_id="w", job_types=job_types)
    before = watched.entries_read()
    for _ in range(2 * AT_FIRST):
        assert len(watched.bench.commit(claim).outcomes[0]) == count
    if job_types is None:
        assert watched.planned_often() == []
    assert watched.entries_read() - before < many


@pytest.mark.parametrize("job_types", [None, ("t", "other")])
def test_plans_of_an_empty_table_are_not_kept_for_a_full_one(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, job_types: tuple[str, ...] | None
) -> None:
    many = 3000
    bench = watched.bench
    watched.count_rows()
    claim = Claim(("q",), worker_id="w", job_types=job_types)
    for _ in range(2 * AT_FIRST):
        assert bench.commit(claim).outcomes == [()]
    bench.commit(*(enqueue() for _ in range(many)))
    # As after a few seconds.
    monkeypatch.setattr(writers, "PLANS_KEPT_S", 0.0)
    before = watched.entries_read()
    held = bench.commit(claim).outcomes[0][0].lease
    bench.commit(Ack(held.job_id, worker_id="w"))
    assert watched.entries_read() - before < many


def test_few_rows_are_repeated_where_that_changes_nothing() -> None:
    repeated = STATEMENTS["load_jobs"].packed([("a", "b")])
    assert repeated == STATEMENTS["load_jobs"].packed([("a", *"b" * (PLANNED_FOR - 1))])
    assert STATEMENTS["load_jobs"].packed([()]) != repeated
    once, twice = ([(one,) * count for one in ("t", "p", "1.0")] for count in (1, 2))
    assert STATEMENTS["load_receipts"].packed(once) != STATEMENTS["load_receipts"].packed(twice)


def test_no_limit_is_counted_anew_for_each_row() -> None:
    """A subquery behind IN may be run once for each row: it then skips what it locked before."""
    wrong = [
        name for name, statement in STATEMENTS.items() if _COUNTED.search(statement.text.decode())
    ]
    assert wrong == []
