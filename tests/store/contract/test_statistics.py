"""The store contract: statistics are counted with the events, and kept by step."""

import pytest

from ojs_server.domain.admin.maintenance import Maintenance
from ojs_server.domain.admin.statistics import ALL, BOUNDS, HOUR_MS, MINUTE_MS, Count
from ojs_server.domain.jobs.job import Event
from ojs_server.store.base import Store
from ojs_server.store.tables import statistics
from tests.store.records import ON_ALL_VERSIONS, START, HandClock, log, undone

MINUTE = START // MINUTE_MS * MINUTE_MS
HOUR = START // HOUR_MS * HOUR_MS


def happened(kind: str, queue: str | None = "q", data: bytes = b"{}") -> Event:
    return Event(kind, "j1", queue, "t", data)


def ran(ms: int) -> Event:
    return happened("job.completed", data=b'{"worker_id":"\\u0000","duration_ms":%d}' % ms)


def waited(ms: int) -> Event:
    text = b'{"worker_id":"\\"queue_time_ms\\":9","queue_time_ms":%d}' % ms
    return happened("job.started", data=text)


def counted(store: Store, limit: int = 100) -> None:
    with store.transaction() as tx:
        tx.tally_events(limit)


def known(store: Store, step: int, *queues: str) -> list[Count]:
    with store.reader() as reader:
        return sorted(reader.statistics(step, queues, 0, START + HOUR_MS))


@ON_ALL_VERSIONS
def test_each_event_is_counted_once_in_its_minute_and_hour(store: Store, clock: HandClock) -> None:
    log(store, happened("job.enqueued"), happened("job.failed"), happened("job.started"))
    log(store, happened("worker.started", None), happened("job.enqueued", "other"))
    counted(store, limit=2)
    counted(store)
    counted(store)
    clock.forward(MINUTE_MS)
    log(store, happened("job.enqueued"))
    counted(store)
    assert known(store, MINUTE_MS, "q") == [
        Count("q", MINUTE, "enqueued", 0, 1),
        Count("q", MINUTE, "failed", 0, 1),
        Count("q", MINUTE, "started", 0, 1),
        Count("q", MINUTE + MINUTE_MS, "enqueued", 0, 1),
    ]
    assert known(store, HOUR_MS, ALL) == [
        Count(ALL, HOUR, "enqueued", 0, 3),
        Count(ALL, HOUR, "failed", 0, 1),
        Count(ALL, HOUR, "started", 0, 1),
    ]
    assert known(store, MINUTE_MS, "nobody", "nul\0") == []


def test_what_tenants_did_is_counted_apart(store: Store) -> None:
    with store.transaction() as tx:
        tx.begin_tenancy()
        # Shows the next transaction that there are tenants.
        tx.add_counts({"a/": {"available": 1}})
    mine = b'{"worker_id":"\\"tenant_id\\":\\"b\\"","tenant_id":"a"}'
    log(store, happened("job.enqueued", data=mine), happened("job.enqueued"))
    counted(store)
    assert known(store, MINUTE_MS, "a/", "b/") == [Count("a/", MINUTE, "enqueued", 0, 1)]
    assert known(store, MINUTE_MS, ALL) == [Count(ALL, MINUTE, "enqueued", 0, 2)]


@ON_ALL_VERSIONS
def test_run_times_fall_between_the_bounds_of_the_domain(store: Store) -> None:
    log(store, *(ran(bound) for bound in BOUNDS), *(ran(bound + 1) for bound in BOUNDS))
    log(store, ran(0), happened("job.completed"))
    counted(store)
    buckets = {one.bucket: one.times for one in known(store, MINUTE_MS, "q")}
    # The first has the bound itself, nothing and what is not known.
    assert buckets == {0: 3, **dict.fromkeys(range(1, len(BOUNDS)), 2), len(BOUNDS): 1}


@ON_ALL_VERSIONS
def test_waiting_times_fall_between_the_same_bounds(store: Store) -> None:
    log(store, *(waited(ms) for ms in (0, 5, 6, 2_000_000)), happened("job.started"))
    counted(store)
    buckets = {one.bucket: one.times for one in known(store, MINUTE_MS, "q")}
    assert buckets == {0: 3, 1: 1, len(BOUNDS): 1}


def sampled(store: Store, **counts: int) -> None:
    """Sample the depth of queues after their counters have moved."""
    with store.transaction() as tx:
        tx.add_counts({name: {"available": count} for name, count in counts.items()})
    with store.transaction() as tx:
        tx.sample_depths()


@ON_ALL_VERSIONS
def test_the_most_jobs_of_a_span_are_kept(store: Store, clock: HandClock) -> None:
    sampled(store, q=5)
    sampled(store, q=-3, other=1)
    clock.forward(MINUTE_MS)
    sampled(store, q=-1)
    available = [one for one in known(store, MINUTE_MS, "q") if one.kind == "available"]
    assert [(one.at - MINUTE, one.times) for one in available] == [(0, 5), (MINUTE_MS, 1)]
    assert known(store, HOUR_MS, ALL) == [
        Count(ALL, HOUR, "active", 0, 0),
        Count(ALL, HOUR, "available", 0, 5),
        Count(ALL, HOUR, "retryable", 0, 0),
    ]


def test_an_empty_server_is_sampled(store: Store) -> None:
    sampled(store)
    assert [(one.kind, one.times) for one in known(store, MINUTE_MS, ALL)] == [
        ("active", 0),
        ("available", 0),
        ("retryable", 0),
    ]


def test_only_the_deepest_queues_are_sampled(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "SAMPLED", 2)
    with store.transaction() as tx:
        tx.add_counts({"a/q": {"available": 9}})
    sampled(store, a=1, b=3, c=2)
    assert {one.queue for one in known(store, MINUTE_MS, "a", "b", "c", "a/q")} == {"b", "c"}
    assert max(one.times for one in known(store, MINUTE_MS, ALL)) == 6


def test_old_spans_are_removed_by_step(store: Store, clock: HandClock) -> None:
    log(store, happened("job.enqueued"))
    counted(store)
    with store.transaction() as tx:
        assert tx.prune_statistics(MINUTE_MS, MINUTE, 10) == 0
        assert tx.prune_statistics(MINUTE_MS, MINUTE + 1, 1) == 1
        assert tx.prune_statistics(MINUTE_MS, MINUTE + 1, 10) == 1
    assert known(store, MINUTE_MS, "q") == []
    assert known(store, HOUR_MS, "q") == [Count("q", HOUR, "enqueued", 0, 1)]


@pytest.mark.parametrize("until", [None, START + 5])
def test_maintenance_is_known_to_every_later_transaction(store: Store, until: int | None) -> None:
    on = Maintenance(START, "disk", until)
    with store.transaction() as tx:
        assert tx.maintenance is None
        tx.save_maintenance(on)
    with store.transaction() as tx, store.reader() as reader:
        assert tx.maintenance == reader.maintenance() == on
        tx.save_maintenance(None)
    with store.transaction() as tx, store.reader() as reader:
        assert tx.maintenance is None
        assert reader.maintenance() is None


def test_maintenance_that_is_rolled_back_never_was(store: Store) -> None:
    with undone(store) as tx:
        tx.save_maintenance(Maintenance(START))
    with store.transaction() as tx:
        assert tx.maintenance is None
