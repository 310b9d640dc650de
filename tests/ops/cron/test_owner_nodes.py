"""Two nodes that register entries of one owner at the same moment."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from ojs_server.domain.cron.ownership import Caller
from ojs_server.domain.cron.request import parse_changes
from ojs_server.domain.errors import Denied
from ojs_server.ops.cron.entries import RegisterEntry
from ojs_server.store.base import Store
from tests.ops.bench import Bench
from tests.store.postgres.server import blocked, wait_until

KEYS = ("one", "other")


def registration(key: str) -> RegisterEntry:
    """The first entry of an owner that this key uses."""
    meta = {"cron_owner": "shop"}
    body = {"name": key, "expression": "@daily", "type": "t", "meta": meta}
    rights = Caller(key, operates=False, programs=frozenset({*KEYS} - {key}))
    return RegisterEntry(key, parse_changes(body), caller=rights)


def test_one_owner_is_used_by_one_of_two_keys(
    nodes: tuple[Bench, Store], postgres_store: str
) -> None:
    bench, second = nodes
    benches = (bench, Bench(second, bench.clock))
    with ThreadPoolExecutor(2) as threads:
        with psycopg.connect(postgres_store) as foreign:
            # Keep entries from being stored until both nodes have looked for the owner.
            foreign.execute("LOCK TABLE cron IN SHARE MODE")
            registering = [
                threads.submit(one.do, registration(key))
                for one, key in zip(benches, KEYS, strict=True)
            ]
            wait_until(lambda: blocked(postgres_store) == 2)
        refused = [error for error in (each.exception() for each in registering) if error]
    with pytest.raises(Denied, match="the cron owner shop is another key's"):
        raise refused[0]
    assert len(refused) == 1
    with second.reader() as reader:
        assert len(reader.cron()) == 1
