"""Two nodes hear of a worker for the first time, at the same moment."""

from concurrent.futures import ThreadPoolExecutor

from ojs_server.ops.workers.presence import Register
from ojs_server.store.base import Store
from ojs_wire import codec
from tests.ops.bench import Bench
from tests.store.postgres.server import blocked, wait_until
from tests.store.records import a_worker


def test_a_second_registration_is_a_new_incarnation(
    nodes: tuple[Bench, Store], pool: ThreadPoolExecutor, postgres_store: str
) -> None:
    bench, other = nodes
    with other.transaction() as tx:
        assert tx.load_workers(["w"]) == {}
        tx.save_workers([a_worker("w", incarnation=1)])
        registering = pool.submit(bench.do, Register("w", {"hostname": "second"}))
        wait_until(lambda: blocked(postgres_store) == 1)
    assert registering.result().worker.incarnation == 2
    assert bench.worker().incarnation == 2


def test_a_heartbeat_keeps_what_a_registration_has_just_told(
    nodes: tuple[Bench, Store], pool: ThreadPoolExecutor, postgres_store: str
) -> None:
    bench, other = nodes
    told = codec.encode({"hostname": "first"})
    with other.transaction() as tx:
        assert tx.load_workers(["w"]) == {}
        tx.save_workers([a_worker("w", profile=told)])
        beating = pool.submit(bench.beat)
        wait_until(lambda: blocked(postgres_store) == 1)
    assert beating.result().worker.profile == told
    assert bench.worker().profile == told
