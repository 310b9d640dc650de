"""Staged jobs: found in their order until one transaction takes them."""

from ojs_server.store.base import Store
from ojs_server.store.records import Staged, StagedOutcome


def stage(store: Store, *ids: str) -> None:
    with store.transaction() as tx:
        tx.insert_staged([Staged(job_id, None, "{}", 1) for job_id in ids])


def found(store: Store, limit: int = 10) -> list[str]:
    with store.reader() as reader:
        return [job.id for job in reader.staged(limit)]


def take(store: Store, *ids: str) -> set[str]:
    with store.transaction() as tx:
        return tx.take_staged(ids)


def test_jobs_are_found_in_their_order_until_they_are_taken(store: Store) -> None:
    stage(store, "b", "a")
    stage(store, "c")
    assert (found(store), found(store, limit=2)) == (["b", "a", "c"], ["b", "a"])
    assert take(store, "b", "c", "unknown") == {"b", "c"}
    assert found(store) == ["a"]
    assert take(store, "b", "a") == {"a"}
    assert found(store) == []


def test_what_is_staged_after_a_look_in_vain_is_found(store: Store) -> None:
    assert found(store) == []
    stage(store, "a")
    assert found(store) == ["a"]
    take(store, "a")
    assert found(store) == []
    stage(store, "b")
    assert found(store) == ["b"]


def test_a_job_that_is_staged_twice_is_one(store: Store) -> None:
    stage(store, "a")
    stage(store, "a", "b")
    assert found(store) == ["a", "b"]


def test_a_job_stays_where_its_taking_is_rolled_back(store: Store) -> None:
    stage(store, "a")

    class Undone(Exception):
        pass

    try:
        with store.transaction() as tx:
            assert tx.take_staged(["a"]) == {"a"}
            raise Undone
    except Undone:
        pass
    assert found(store) == ["a"]


def test_a_job_is_staged_whole(store: Store) -> None:
    job = Staged("a", "acme", '{"type": "t", "args": ["\\u0000"]}', 7)
    with store.transaction() as tx:
        tx.insert_staged([job])
    with store.reader() as reader:
        assert reader.staged(1) == [job]


def test_an_outcome_is_found_by_the_id_of_its_job(store: Store) -> None:
    refused = StagedOutcome("a", 10, code="c", message="m", details=b'{"a":1}')
    with store.transaction() as tx:
        tx.insert_staged_outcomes([refused, StagedOutcome("b", 20, job_id="j")])
    with store.reader() as reader:
        assert reader.staged_outcome("a") == refused
        assert reader.staged_outcome("b") == StagedOutcome("b", 20, job_id="j")
        assert reader.staged_outcome("c") is None


def test_old_outcomes_are_removed(store: Store) -> None:
    with store.transaction() as tx:
        tx.insert_staged_outcomes(
            [
                StagedOutcome("old", 10, code="c", message="m", details=b'{"a":1}'),
                StagedOutcome("new", 20, job_id="j"),
            ]
        )
        tx.insert_staged_outcomes([StagedOutcome("new", 30, job_id="k")])
        assert (tx.prune_staged_outcomes(30, 10), tx.prune_staged_outcomes(31, 10)) == (1, 1)
