"""Autovacuum settings of the tables that change with every job."""

from typing import Final

import pytest

from tests.store.postgres.server import query

SETTINGS: Final = (
    "SELECT split_part(one, '=', 1), split_part(one, '=', 2)::float8 FROM pg_class,"
    " unnest(reloptions) AS one WHERE relnamespace = current_schema()::regnamespace AND relname = "
)
MILLION: Final = 1_000_000


@pytest.mark.parametrize(
    ("table", "dead_rows"),
    [
        ("jobs", 10_000),
        ("leases", 12_000),
        ("queue_counts", 1_000),
        ("events", 10_000),
        ("deliveries", 5_000),
        ("receipts", 10_000),
    ],
)
def test_a_big_table_is_tidied_up_as_often_as_a_small_one(
    postgres_store: str, table: str, dead_rows: int
) -> None:
    found = dict(query(postgres_store, f"{SETTINGS}'{table}'"))
    share = found["autovacuum_vacuum_scale_factor"]
    assert found["autovacuum_vacuum_threshold"] + share * MILLION == dead_rows


def test_leases_and_counts_are_tidied_up_without_pauses(postgres_store: str) -> None:
    for table in ("leases", "queue_counts"):
        found = dict(query(postgres_store, f"{SETTINGS}'{table}'"))
        assert found["autovacuum_vacuum_cost_delay"] == 0
