"""The store contract: rate limits, release of waiting jobs, and settings of queues."""

from typing import Any

import msgspec

from ojs_server.domain.jobs.job import StoredJob
from ojs_server.domain.limits.limit_state import Limit
from ojs_server.domain.limits.rate_limit import Policy, Window
from ojs_server.domain.queues.config import Bounds, QueueConfig
from ojs_server.store.base import Store, Tx
from ojs_server.store.records import QueueLoad
from tests.store.records import ON_ALL_VERSIONS, START, HandClock, a_job, claim, ids, put, undone

pytestmark = ON_ALL_VERSIONS
FULL = Limit(
    "k",
    Policy(2, Window(3, 1000), Window(4, 2000)),
    active=1,
    starts=((START, 1), (START + 5, 2)),
    next_us=7,
    held_until=START + 9,
    override=Policy(5),
    override_until=START + 11,
    waits_since=START + 1,
    opens_at=START + 2,
    used_at=START,
)


def keyed(job_id: str, **fields: Any) -> StoredJob:
    return a_job(job_id, **{"rate_key": "k", "on_limit": "wait", **fields})


def stored(tx: Tx, name: str = "k") -> Limit:
    return tx.load_limits([name])[name]


def test_a_limit_is_read_as_it_was_stored(store: Store) -> None:
    with store.transaction() as tx:
        tx.insert_limits([FULL, Limit("empty")])
    with store.transaction() as tx:
        assert tx.load_limits(["k", "empty", "none"]) == {"k": FULL, "empty": Limit("empty")}
        tx.insert_limits([Limit("k")])
        assert stored(tx) == FULL
        tx.save_limits([Limit("k", Policy(9))])
        assert stored(tx) == Limit("k", Policy(9))


def test_limits_that_were_undone_are_not_there(store: Store) -> None:
    with undone(store) as tx:
        tx.insert_limits([FULL])
        tx.save_config("q", QueueConfig(lease_ms=5))
    with store.transaction() as tx:
        assert tx.load_limits(["k"]) == {}
        assert tx.configs == {}


def test_limits_are_found_when_time_opens_them(store: Store, clock: HandClock) -> None:
    with store.transaction() as tx:
        tx.insert_limits([FULL, Limit("later", opens_at=START + 50), Limit("never")])
        assert tx.load_opening(9) == []
    clock.forward(2)
    with store.reader() as reader:
        assert reader.due().limit == START + 2
    with store.transaction() as tx:
        assert tx.load_opening(9) == [FULL]


def test_gated_jobs_are_claimed_only_before_their_gate(store: Store) -> None:
    jobs = [keyed(f"j{n}", seq=n, priority=n == 3) for n in range(4)]
    put(store, *jobs, keyed("drops", on_limit="drop", seq=9), a_job("free", seq=10))
    assert ids(claim(store)) == ["drops", "free"]
    with store.transaction() as tx:
        opened = tx.release_gated({"k": 2})
    assert sorted((one.job_id, one.queue, one.done) for one in opened) == [
        ("j0", "default", True),
        ("j3", "default", True),
    ]
    with store.transaction() as tx:
        # They stand there already.
        assert tx.release_gated({"k": 2, "none": 5}) == []
        assert tx.gated_keys(["k", "none"]) == {"k"}
    assert ids(claim(store)) == ["j3", "j0"]


def test_each_queue_and_type_has_its_next_jobs(store: Store) -> None:
    put(
        store,
        *(
            keyed(f"{queue}-{kind}-{n}", queue=queue, type=kind, seq=n)
            for queue in ("a", "b")
            for kind in ("t.x", "t.y")
            for n in range(3)
        ),
    )
    with store.transaction() as tx:
        opened = {one.job_id for one in tx.release_gated({"k": 1})}
    assert opened == {"a-t.x-0", "a-t.y-0", "b-t.x-0", "b-t.y-0"}


def test_a_claim_on_trial_can_be_kept_or_taken_back(store: Store) -> None:
    due = {"due_at": START + 99, "expires_at": START + 99, "started_at": 3}
    put(store, *(keyed(f"j{n}", seq=n, **due) for n in range(3)))
    with store.transaction() as tx:
        before = {name: job for name, (job, _) in tx.load_jobs(["j0", "j1", "j2"]).items()}
        tx.release_gated({"k": 3})
    with store.transaction() as tx:
        taken = tx.claim(["default"], None, 3)
        assert [(one.job.state, one.job.attempt) for one in taken] == [("active", 1)] * 3
        tx.keep_taken(["j0"])
        tx.send_back([("j1", True), ("j2", False)])
    with store.transaction() as tx:
        after = {name: job for name, (job, _) in tx.load_jobs(["j0", "j1", "j2"]).items()}
    assert (after["j0"].started_at, after["j0"].due_at) == (START, None)
    assert (after["j1"], after["j2"]) == (before["j1"], before["j2"])
    assert ids(claim(store)) == ["j2"]


def test_settings_are_seen_by_the_next_transaction(store: Store) -> None:
    config = QueueConfig(
        Policy(1),
        Bounds(5, 100, "block", 0.5),
        lease_ms=7,
        run_ms=8,
        retry={"max_attempts": 2},
        retention={"completed": 9},
        job_types=("a.*",),
    )
    with store.transaction() as tx:
        tx.save_config("q", QueueConfig())
        tx.save_config("q", config)
        assert tx.configs == {"q": config}
    with store.transaction() as tx:
        assert tx.configs == {"q": config}
    with store.reader() as reader:
        (queue,) = reader.queues(["q"])
    assert (queue.config, queue.configured_at, queue.paused) == (config, START, False)
    with store.transaction() as tx:
        tx.delete_queue("q")
    with store.transaction() as tx:
        assert tx.configs == {}


def test_loads_are_sums_of_the_counters(store: Store) -> None:
    with store.transaction() as tx:
        tx.add_counts({"q": {"available": 3, "scheduled": 2, "active": 4, "bytes": 50}})
        tx.add_counts({"q": {"available": -1, "retryable": 1, "pending": 9, "completed": 6}})
        assert tx.queue_loads(["q", "none"]) == {"q": QueueLoad(4, 5, 50, 2)}
        assert tx.count_jobs(["q"]) == {"q": 24}


def test_the_oldest_jobs_come_first_whatever_their_priority(store: Store) -> None:
    put(
        store,
        a_job("c", priority=9, seq=3),
        a_job("a", priority=-5, seq=1),
        keyed("b", seq=2),
        a_job("d", seq=4),
        a_job("other", queue="other", seq=0),
        a_job("later", state="scheduled", seq=0),
    )
    with store.transaction() as tx:
        assert [job.id for job in tx.oldest_waiting("default", 3)] == ["a", "b", "c"]
        assert [job.id for job in tx.oldest_waiting("default", 99)] == ["a", "b", "c", "d"]
        assert tx.oldest_waiting("none", 9) == []


def test_a_span_walks_through_all_jobs_and_shows_those_of_a_queue(store: Store) -> None:
    put(store, *(a_job(f"j{n}", queue="q" if n % 2 else "other") for n in range(5)))
    seen: list[tuple[str, str, int]] = []
    after = ""
    with store.reader() as reader:
        while (span := reader.span("q", after, 2)) is not None:
            seen += span.jobs
            after = span.last
    assert seen == [("j1", "available", START), ("j3", "available", START)]


def test_limits_are_listed_without_those_of_queues(store: Store) -> None:
    put(store, keyed("j1"), keyed("j2", state="scheduled"))
    with store.transaction() as tx:
        tx.insert_limits([Limit("k"), Limit("$jobs:q"), Limit("#queue:q"), Limit("a")])
    with store.reader() as reader:
        page = reader.limits(2, 1)
        assert [(limit.name, waiting) for limit, waiting in page.limits] == [("a", 0), ("k", 1)]
        assert page.total == 3
        assert reader.limit("k") == (Limit("k"), 1)
        assert reader.limit("none") is None


def test_limits_that_nobody_names_are_pruned(store: Store, clock: HandClock) -> None:
    put(store, keyed("j1", state="completed"))
    lasting = Limit("lasting", override=Policy(1))
    ended = Limit("ended", override=Policy(1), override_until=START)
    with store.transaction() as tx:
        tx.insert_limits([Limit("k"), Limit("old"), lasting, ended])
        tx.insert_limits([Limit("new", used_at=START)])
    clock.forward(10)
    with store.transaction() as tx:
        assert tx.prune_limits(START, 99) == 4
        assert tx.load_limits(["k", "old", "lasting", "ended", "new"]) == {
            "k": Limit("k", used_at=START + 10),
            "lasting": msgspec.structs.replace(lasting, used_at=START + 10),
            "new": Limit("new", used_at=START),
        }
        assert tx.prune_limits(START, 99) == 0
