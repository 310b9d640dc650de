"""The statements of an outbox, which relays run on each database, and how that is named."""

from typing import Any

import pytest
import sqlalchemy as sa

from ojs_worker.environment import machine
from ojs_worker.outbox.rows import open_database
from tests.worker.outbox.conftest import Outbox


def test_no_statement_reads_all_that_was_sent(sqlite_outbox: Outbox) -> None:
    engine, rows = sqlite_outbox.engine, sqlite_outbox.rows
    plans: list[str] = []

    def explain(
        connection: sa.Connection, cursor: Any, statement: str, values: Any, *_: Any
    ) -> None:
        explained = connection.connection.cursor()
        explained.execute(f"EXPLAIN QUERY PLAN {statement}", values)
        plans.extend(plan[3] for plan in explained.fetchall())

    sa.event.listen(engine, "before_cursor_execute", explain)
    now = machine().now()
    rows.waiting(10, ["q"])
    rows.mark_sent([1, 2], now)
    rows.mark_failed(3, "no")
    rows.retry(None)
    rows.failures(10)
    rows.figures()
    rows.prune(now)
    assert len(plans) >= 7
    assert [plan for plan in plans if plan.startswith("SCAN ojs_outbox")] == []


def test_a_job_that_is_there_counts_for_more_than_a_refusal(sqlite_outbox: Outbox) -> None:
    """Another relay may have seen the one or the other."""
    sqlite_outbox.write({}, {})
    rows, now = sqlite_outbox.rows, machine().now()
    rows.mark_sent([1], now)
    rows.mark_failed(1, "no")
    rows.mark_failed(2, "no")
    rows.mark_sent([2], now)
    assert sqlite_outbox.marks() == [("sent", None)] * 2


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite+aiosqlite:///x.db", "blocking drivers"),
        ("shop.db", "the outbox's database"),
    ],
)
def test_a_database_that_cannot_be_used_is_named(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        open_database(url)
