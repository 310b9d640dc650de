"""The store contract: jobs handed out by a claim, their order, and their new state."""

import msgspec

from ojs_server.store.base import Store
from tests.store.records import (
    ON_ALL_VERSIONS,
    START,
    HandClock,
    a_job,
    claim,
    ids,
    put,
    record,
    undone,
)


@ON_ALL_VERSIONS
def test_a_queue_is_first_in_first_out_by_sequence(store: Store) -> None:
    put(store, a_job("a", seq=3), a_job("b", seq=1), a_job("c", seq=2))
    assert ids(claim(store)) == ["b", "c", "a"]


@ON_ALL_VERSIONS
def test_a_higher_priority_goes_first(store: Store) -> None:
    put(
        store,
        a_job("low", priority=-5, seq=1),
        a_job("high", priority=100, seq=4),
        a_job("plain", seq=2),
        a_job("high.later", priority=100, seq=5),
    )
    assert ids(claim(store)) == ["high", "high.later", "plain", "low"]


@ON_ALL_VERSIONS
def test_queues_are_emptied_in_the_order_wanted(store: Store) -> None:
    put(
        store,
        a_job("a1", queue="a", seq=1, priority=9),
        a_job("b1", queue="b", seq=2),
        a_job("b2", queue="b", seq=3, priority=1),
        a_job("c1", queue="c", seq=4),
    )
    assert ids(claim(store, ["b", "c", "a"], n=3)) == ["b2", "b1", "c1"]
    assert ids(claim(store, ["b", "c", "a"], n=3)) == ["a1"]


def test_a_queue_named_twice_counts_where_it_stands_first(store: Store) -> None:
    put(store, a_job("a1", queue="a", seq=2), a_job("b1", queue="b", seq=1))
    assert ids(claim(store, ["a", "b", "a"])) == ["a1", "b1"]


def test_no_more_than_the_limit_is_handed_out(store: Store) -> None:
    put(store, *(a_job(f"j{n}", seq=n) for n in range(5)))
    assert ids(claim(store, n=2)) == ["j0", "j1"]
    assert ids(claim(store, n=2)) == ["j2", "j3"]
    assert ids(claim(store, n=2)) == ["j4"]
    assert claim(store, n=2) == []


def test_two_claims_of_one_transaction_take_different_jobs(store: Store) -> None:
    put(store, a_job("j1", seq=1), a_job("j2", seq=2))
    with store.transaction() as tx:
        assert ids(tx.claim(["default"], None, 1)) == ["j1"]
        assert ids(tx.claim(["default"], None, 1)) == ["j2"]
        assert ids(tx.claim(["default"], None, 1)) == []


def test_a_job_stored_in_the_same_transaction_can_be_claimed(store: Store) -> None:
    with store.transaction() as tx:
        tx.insert_jobs([a_job("j1")])
        assert ids(tx.claim(["default"], None, 1)) == ["j1"]


def test_only_available_jobs_are_handed_out(store: Store) -> None:
    others = ("scheduled", "pending", "active", "completed", "retryable", "cancelled", "discarded")
    put(store, *(a_job(state, state=state) for state in others), a_job("free"))
    assert ids(claim(store)) == ["free"]
    assert claim(store, types=["mail.send"]) == []


def test_other_queues_are_left_alone(store: Store) -> None:
    put(store, a_job("j1", queue="default.2"), a_job("j2", queue="Default"))
    assert claim(store, ["default"]) == []


@ON_ALL_VERSIONS
def test_a_claimed_job_is_active_and_counts_the_delivery(store: Store, clock: HandClock) -> None:
    waiting = a_job("j1", attempt=2, due_at=START + 9000, expires_at=START + 9000, args=b"[1]")
    put(store, waiting)
    clock.forward(50)
    (claimed,) = claim(store)
    assert claimed.job == msgspec.structs.replace(
        waiting.job, state="active", attempt=3, started_at=START + 50, due_at=None
    )
    assert (claimed.args, claimed.meta) == (b"[1]", b"{}")
    assert record(store, "j1") == claimed.job


@ON_ALL_VERSIONS
def test_an_expired_job_is_not_handed_out(store: Store, clock: HandClock) -> None:
    put(
        store,
        a_job("past", seq=1, expires_at=START + 10),
        a_job("on", seq=2, expires_at=START + 11),
    )
    clock.forward(10)
    assert ids(claim(store, types=["mail.send"])) == ["on"]
    put(store, a_job("later", expires_at=START + 11))
    assert ids(claim(store)) == ["later"]


@ON_ALL_VERSIONS
def test_a_paused_queue_hands_nothing_out_until_it_is_resumed(store: Store) -> None:
    put(store, a_job("a1", queue="a"), a_job("b1", queue="b"))
    with store.transaction() as tx:
        tx.set_paused("a", True)
    assert ids(claim(store, ["a", "b"])) == ["b1"]
    assert claim(store, ["a"], ["mail.send"]) == []
    with store.transaction() as tx:
        tx.set_paused("a", False)
    assert ids(claim(store, ["a", "b"])) == ["a1"]


@ON_ALL_VERSIONS
def test_only_the_wanted_types_are_handed_out(store: Store) -> None:
    put(
        store,
        a_job("mail", seq=1),
        a_job("video", seq=2, type="video.encode"),
        a_job("image", seq=3, type="image.scale"),
    )
    assert ids(claim(store, types=["image.scale", "video.encode"])) == ["video", "image"]
    assert claim(store, types=["mail"]) == []
    assert ids(claim(store, types=["mail.send"])) == ["mail"]


@ON_ALL_VERSIONS
def test_types_of_one_queue_are_merged_in_the_queues_order(store: Store) -> None:
    put(
        store,
        *(
            a_job(f"{queue}{n}", queue=queue, seq=n, type=f"t.{n % 3}", priority=n // 6)
            for queue in "ab"
            for n in range(9)
        ),
    )
    expected = ["b6", "b7", "b0", "b1", "b3", "b4", "a6", "a7", "a0"]
    assert ids(claim(store, ["b", "a"], ["t.1", "t.0"], n=9)) == expected


def test_the_limit_holds_over_queues_and_types(store: Store) -> None:
    put(store, *(a_job(f"j{n}", queue=f"q{n % 2}", type=f"t.{n % 3}", seq=n) for n in range(12)))
    assert ids(claim(store, ["q1", "q0"], ["t.0", "t.1", "t.2"], n=7)) == [
        "j1", "j3", "j5", "j7", "j9", "j11", "j0",
    ]  # fmt: skip


def test_no_queues_or_no_types_is_no_job(store: Store) -> None:
    put(store, a_job("j1"))
    assert claim(store, []) == []
    assert claim(store, types=[]) == []


def test_a_hundred_queues_and_a_hundred_types_can_be_wanted(store: Store) -> None:
    put(store, *(a_job(f"j{n}", queue=f"q{n}", type=f"t.{n}", seq=n) for n in range(0, 100, 9)))
    queues = [f"q{n}" for n in range(99, -1, -1)]
    types = [f"t.{n}" for n in range(100)]
    assert ids(claim(store, queues, types, n=3)) == ["j99", "j90", "j81"]
    assert ids(claim(store, queues, n=2)) == ["j72", "j63"]


def test_a_claim_that_is_rolled_back_leaves_the_job(store: Store) -> None:
    put(store, a_job("j1"))
    with undone(store) as tx:
        assert ids(tx.claim(["default"], None, 1)) == ["j1"]
    assert record(store, "j1") == a_job("j1").job
