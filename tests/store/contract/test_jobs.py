"""The store contract: storing jobs, reading them back, removing them."""

import pytest
from msgspec.structs import replace

from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.uniform_jobs import UniformJobs
from ojs_server.store.base import Store
from ojs_server.store.records import ListPosition
from tests.store.records import ON_ALL_VERSIONS, START, a_job, a_lease, hold, put, record, whole

FULL = a_job(
    "full",
    type="video.encode",
    queue="media.hd",
    state="retryable",
    priority=-7,
    seq=2**62 + 1,
    attempt=4,
    releases=2,
    max_attempts=9,
    created_at=START + 1,
    enqueued_at=START + 2,
    started_at=START + 3,
    finished_at=START + 4,
    completed_at=START + 5,
    scheduled_at=START + 6,
    expires_at=START + 7,
    due_at=START + 8,
    lease_ms=9,
    run_ms=10,
    retry_delay_ms=11,
    spec=b'{"retry":{}}',
    error=b'{"type":"x"}',
    errors=b'[{"type":"x"}]',
    args=b'["a"]',
    meta=b'{"k":1}',
    request_hash=b"\x00\xff\x80",
    result=b'{"ok":true}',
)


@ON_ALL_VERSIONS
def test_a_job_comes_back_as_it_was_stored(store: Store) -> None:
    put(store, FULL)
    assert whole(store, "full") == FULL


@ON_ALL_VERSIONS
def test_a_job_with_nothing_optional_comes_back_as_it_was_stored(store: Store) -> None:
    bare = a_job("bare")
    put(store, bare)
    assert whole(store, "bare") == bare


@ON_ALL_VERSIONS
@pytest.mark.parametrize("count", [1, 24, 25, 130])
def test_uniform_jobs_come_back_as_each_of_them_is(store: Store, count: int) -> None:
    ids = [f"j{number:03}" for number in range(count)]
    args = [b"[%d]" % number for number in range(count)]
    places, sizes, metas = range(7, 7 + count), range(count), [b'{"a":1}', *[b"{}"] * (count - 1)]
    for like in (FULL.job, a_job("").job, a_job("", rate_key="k", on_limit="wait").job):
        jobs = UniformJobs(replace(like, id=""), ids, places, args, metas, sizes)
        with store.transaction() as tx:
            tx.insert_new_jobs(jobs)
        assert [whole(store, job_id) for job_id in ids] == list(jobs)
        with store.transaction() as tx:
            tx.delete_jobs(ids)


@ON_ALL_VERSIONS
def test_jobs_of_one_batch_may_each_lack_something_else(store: Store) -> None:
    jobs = [
        a_job("bare-1"),
        FULL,
        a_job("due", due_at=START + 1, error=b'{"type":"x"}'),
        a_job("bare-2", args='["☃"]'.encode()),
        a_job("expires", expires_at=START + 2, result=b"0", priority=0),
    ]
    put(store, *jobs)
    assert [whole(store, one.job.id) for one in jobs] == jobs


@pytest.mark.parametrize(
    "payload",
    [
        b'{"nul":"\\u0000","pair":"\\ud83d\\ude00","slash":"\\/"}',
        '{"text":"snow ☃, \U0001f600, \u2028"}'.encode(),
        b'{ "spaces" : [ 1 , 2 ],\n\t"twice":1, "twice":2 }',
        b'{"big":123456789012345678901234567890,"exact":0.10000000000000000555,"e":1E400}',
        b'{"quotes":"\\"\\\\","braces":"{,}","percent":"%s %(x)s"}',
    ],
    ids=["escapes", "unicode", "spacing", "numbers", "quoting"],
)
def test_a_payload_keeps_every_byte(store: Store, payload: bytes) -> None:
    stored = a_job("j1", args=payload, meta=payload, result=payload, error=payload, errors=payload)
    put(store, stored)
    assert whole(store, "j1") == stored


@ON_ALL_VERSIONS
def test_args_of_a_mebibyte_keep_every_byte(store: Store) -> None:
    args = b'["' + bytes(range(0x20, 0x7F)).replace(b'"', b"").replace(b"\\", b"") * 11_400 + b'"]'
    assert len(args) > 1024 * 1024
    put(store, a_job("j1", args=args))
    stored = whole(store, "j1")
    assert stored is not None
    assert stored.args == args


@ON_ALL_VERSIONS
def test_a_thousand_jobs_are_stored_at_once(store: Store) -> None:
    jobs = [a_job(f"j{n}", seq=n, args=b"[%d]" % n) for n in range(1000)]
    put(store, *jobs)
    with store.transaction() as tx:
        assert tx.load_whole([f"j{n}" for n in range(1000)]) == {one.job.id: one for one in jobs}


@ON_ALL_VERSIONS
@pytest.mark.parametrize("count", [31, 32, 600])
def test_jobs_that_are_alike_in_all_but_little_come_back_as_they_were_stored(
    store: Store, count: int
) -> None:
    like = replace(FULL, meta='{"☃":1}'.encode())
    jobs = [
        replace(like, job=replace(like.job, id=f"j{n}", seq=n), args=b"[%d]" % n)
        for n in range(count)
    ]
    # One of them lacks what all others have.
    jobs[7] = a_job("j7", type=like.job.type)
    put(store, *jobs)
    with store.transaction() as tx:
        assert tx.load_whole([f"j{n}" for n in range(count)]) == {one.job.id: one for one in jobs}


def test_storing_nothing_is_no_error(store: Store) -> None:
    put(store)


@ON_ALL_VERSIONS
def test_an_id_that_exists_is_answered_and_left_alone(store: Store) -> None:
    put(store, a_job("j1", args=b"[1]"), a_job("j3"))
    with store.transaction() as tx:
        jobs = [a_job(f"j{n}", args=b"[2]") for n in (4, 3, 2, 1)]
        assert tx.insert_jobs(jobs) == {"j1", "j3"}
        assert sorted(tx.load_requests([f"j{n}" for n in range(9)])) == ["j1", "j2", "j3", "j4"]
    stored = whole(store, "j1")
    assert stored is not None
    assert stored.args == b"[1]"


def test_ids_that_only_differ_in_case_are_two_jobs(store: Store) -> None:
    put(store, a_job("j"), a_job("J"))
    assert record(store, "j") != record(store, "J")


def test_the_hash_of_a_request_is_found_by_job(store: Store) -> None:
    put(store, a_job("j1", request_hash=b"\x00\x01"), a_job("j2"))
    with store.transaction() as tx:
        assert tx.load_requests(["j2", "j1", "unknown"]) == {"j1": b"\x00\x01", "j2": None}


@ON_ALL_VERSIONS
def test_jobs_are_loaded_with_the_leases_on_them(store: Store) -> None:
    put(store, a_job("waiting"))
    hold(store, a_lease("held"))
    with store.transaction() as tx:
        found = tx.load_jobs(["held", "waiting", "unknown"])
    assert found == {
        "held": (a_job("held", state="active", attempt=1).job, a_lease("held")),
        "waiting": (a_job("waiting").job, None),
    }


def test_asking_for_no_jobs_answers_none(store: Store) -> None:
    put(store, a_job("j1"))
    with store.transaction() as tx:
        assert tx.load_jobs([]) == {}
        assert tx.load_whole([]) == {}
        assert tx.load_requests([]) == {}


def test_an_id_is_loaded_once_however_often_it_is_named(store: Store) -> None:
    put(store, a_job("j1"))
    with store.transaction() as tx:
        assert list(tx.load_jobs(["j1", "j1"])) == ["j1"]


def test_an_id_with_a_nul_is_only_unknown(store: Store) -> None:
    put(store, a_job("j1"))
    with store.transaction() as tx:
        assert set(tx.load_jobs(["j\0", "j1"])) == {"j1"}
        assert tx.load_leases(["j\0"]) == {}
        assert tx.load_workers(["w\0"]) == {}
        assert tx.load_fetches(["f\0"]) == []
    with store.reader() as reader:
        assert reader.job("j\0") is None
        assert reader.queues(["q\0"]) == []
        assert reader.workers(["w\0"]) == []
        assert (
            reader.dead_letters(
                JobFilter(queue="q\0", type="t\0"), 10, 0, ListPosition(1, "j\0")
            ).jobs
            == []
        )


def test_ids_may_hold_what_sql_and_arrays_treat_specially(store: Store) -> None:
    names = ["a'b", 'a"b', "a,b", "{a}", "a\\b", "NULL", "%s", "a b", "é☃"]
    put(store, *(a_job(name) for name in names))
    with store.transaction() as tx:
        assert set(tx.load_jobs(names)) == set(names)


def test_a_removed_job_is_gone(store: Store) -> None:
    put(store, a_job("j1"), a_job("j2"))
    with store.transaction() as tx:
        tx.delete_jobs(["j1", "unknown"])
        tx.delete_jobs([])
    assert whole(store, "j1") is None
    assert whole(store, "j2") is not None


def test_one_job_is_read_with_its_lease(store: Store) -> None:
    put(store, a_job("waiting"))
    hold(store, a_lease("held"))
    with store.reader() as reader:
        assert reader.job("waiting") == (a_job("waiting"), None)
        assert reader.job("held") == (a_job("held", state="active", attempt=1), a_lease("held"))
        assert reader.job("unknown") is None


def test_the_meta_of_jobs_is_read_by_id(store: Store) -> None:
    put(store, a_job("j1", meta=b'{"n":1}'), a_job("j2", meta=b'{"n":2}'))
    with store.reader() as reader:
        assert sorted(reader.metas(["j2", "unknown", "j1"])) == [b'{"n":1}', b'{"n":2}']
        assert reader.metas([]) == []
