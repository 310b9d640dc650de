"""The store contract: the next of many job types that a claim names."""

from ojs_server.store.base import Store
from tests.store.records import ON_ALL_VERSIONS, a_job, put


def next_types(
    store: Store, types: list[str], queues: tuple[str, ...] = ("q",), most: int = 100
) -> list[tuple[str, str]]:
    with store.transaction() as tx:
        return tx.next_types(queues, types, most)


@ON_ALL_VERSIONS
def test_types_come_in_the_order_of_their_first_jobs(store: Store) -> None:
    put(
        store,
        a_job("1", queue="q", type="m", seq=1),
        a_job("2", queue="q", type="a", seq=2),
        a_job("3", queue="q", type="z", seq=3, priority=1),
        a_job("4", queue="q", type="a", seq=4, priority=-1),
        a_job("5", queue="q", type="other", seq=5, priority=9),
        a_job("7", queue="q", type="later", seq=7, state="scheduled"),
        a_job("8", queue="r", type="z", seq=8),
    )
    wanted = ["z", "later", "a", "nowhere", "m"]
    assert next_types(store, wanted) == [("q", "z"), ("q", "m"), ("q", "a")]
    assert next_types(store, wanted, ("r", "none", "q")) == [
        ("r", "z"),
        ("q", "z"),
        ("q", "m"),
        ("q", "a"),
    ]
    assert next_types(store, wanted, ("r", "q"), most=1) == [("r", "z"), ("q", "z")]
    assert next_types(store, ["nowhere"]) == []
    with store.transaction() as tx:
        tx.set_paused("q", True)
    assert next_types(store, wanted, ("q", "r")) == [("r", "z")]


@ON_ALL_VERSIONS
def test_each_of_many_types_is_found_among_many_others(store: Store) -> None:
    put(store, *(a_job(f"j{n}", queue="q", type=f"t{n}", seq=n) for n in range(300)))
    wanted = [*(f"t{n}" for n in range(0, 300, 7)), "a", "t", "t2999", "zzz"]
    found = next_types(store, wanted, most=1000)
    assert found == [("q", f"t{n}") for n in range(0, 300, 7)]
