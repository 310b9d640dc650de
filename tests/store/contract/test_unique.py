"""The store contract: fingerprints of unique jobs."""

from ojs_server.store.base import Store
from tests.store.records import ON_ALL_VERSIONS, START, a_job, change, put, record, undone, whole

ONE = b"\x00" + b"\xff" * 31
TWO = b"2" * 32
ALL = ("available", "active", "completed")


def find(store: Store, *wanted: tuple[bytes, str]) -> dict[bytes, list[str]]:
    with store.transaction() as tx:
        tx.lock_unique(key for key, _ in wanted)
        found = tx.find_unique(wanted)
    return {key: sorted(job.id for job in jobs) for key, jobs in found.items()}


@ON_ALL_VERSIONS
def test_a_fingerprint_is_kept_with_its_job(store: Store) -> None:
    job = a_job("j1", unique_key=ONE)
    put(store, job, a_job("j2"))
    assert whole(store, "j1") == job
    with store.transaction() as tx:
        assert tx.find_unique([(ONE, "available")]) == {ONE: [job.job]}
        assert tx.load_whole(["j1", "j2"]) == {"j1": job, "j2": a_job("j2")}


@ON_ALL_VERSIONS
def test_the_newest_job_of_each_fingerprint_and_state_is_found(store: Store) -> None:
    put(
        store,
        *(
            a_job(
                f"{key[:1].hex()}-{state}-{age}",
                state=state,
                created_at=START - age,
                unique_key=key,
            )
            for key in (ONE, TWO)
            for state in ALL
            for age in (2, 1, 3)
        ),
        a_job("none"),
    )
    assert find(store, (ONE, "available"), (ONE, "completed"), (TWO, "active")) == {
        ONE: ["00-available-1", "00-completed-1"],
        TWO: ["32-active-1"],
    }
    assert find(store, (ONE, "retryable"), (b"3" * 32, "available")) == {}


@ON_ALL_VERSIONS
def test_of_equally_old_jobs_the_one_with_the_larger_id_is_found(store: Store) -> None:
    put(store, *(a_job(name, unique_key=ONE) for name in ("b", "c", "a")))
    assert find(store, (ONE, "available")) == {ONE: ["c"]}


def test_a_job_is_found_in_the_state_it_has_now(store: Store) -> None:
    put(store, a_job("j1", unique_key=ONE))
    with store.transaction() as tx:
        tx.write_changes([change(record(store, "j1"), state="completed")])
        assert tx.find_unique([(ONE, "available")]) == {}
        assert [job.id for job in tx.find_unique([(ONE, "completed")])[ONE]] == ["j1"]


def test_a_fingerprint_goes_with_its_job(store: Store) -> None:
    put(store, a_job("j1", unique_key=ONE))
    with store.transaction() as tx:
        tx.delete_jobs(["j1"])
    assert find(store, (ONE, "available")) == {}


def test_a_job_of_this_transaction_is_found_and_one_undone_is_not(store: Store) -> None:
    with undone(store) as tx:
        tx.lock_unique([ONE])
        tx.insert_jobs([a_job("j1", unique_key=ONE)])
        assert ONE in tx.find_unique([(ONE, "available")])
    assert find(store, (ONE, "available")) == {}


def test_a_fingerprint_can_be_locked_often_and_with_many_others(store: Store) -> None:
    keys = [number.to_bytes(32, "big") for number in range(2000)]
    for _ in range(2):
        with store.transaction() as tx:
            tx.lock_unique(keys)
            tx.lock_unique([])
            tx.lock_unique([ONE, ONE, TWO])
            tx.lock_unique([ONE])
            assert tx.find_unique([(key, state) for key in keys for state in ALL]) == {}


def test_nothing_wanted_is_nothing_found(store: Store) -> None:
    put(store, a_job("j1", unique_key=ONE))
    with store.transaction() as tx:
        assert tx.find_unique([]) == {}
