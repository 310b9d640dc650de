"""The store contract: the list of discarded jobs, newest first."""

import pytest

from ojs_server.domain.job import StoredJob
from ojs_server.store.base import JobPage, Place, Store
from tests.store.records import ON_ALL_VERSIONS, START, a_job, put


def dead(job_id: str, finished: int, **fields: object) -> StoredJob:
    return a_job(job_id, state="discarded", finished_at=START + finished, **fields)


def page(
    store: Store,
    queue: str | None = None,
    job_type: str | None = None,
    limit: int = 99,
    offset: int = 0,
    after: Place | None = None,
) -> JobPage:
    with store.reader() as reader:
        return reader.dead_letters(queue, job_type, limit, offset, after)


def ids(found: JobPage) -> list[str]:
    return [stored.job.id for stored in found.jobs]


@ON_ALL_VERSIONS
def test_discarded_jobs_are_listed_newest_first_and_whole(store: Store) -> None:
    newest = dead("a", 3, args=b'["\\u0000"]', error=b'{"type":"x"}')
    put(store, dead("b", 1), newest, dead("c", 2), a_job("alive"), a_job("done", state="completed"))
    found = page(store)
    assert ids(found) == ["a", "c", "b"]
    assert found.jobs[0] == newest
    assert (found.total, found.has_more) == (3, False)


@ON_ALL_VERSIONS
def test_jobs_discarded_at_one_moment_are_listed_by_id(store: Store) -> None:
    put(store, *(dead(name, 1) for name in ("b", "B", "a", "_")))
    assert ids(page(store)) == ["b", "a", "_", "B"]


@ON_ALL_VERSIONS
def test_a_page_goes_on_after_the_last_one(store: Store) -> None:
    put(store, *(dead(f"j{n}", n // 2) for n in range(6)))
    first = page(store, limit=4)
    assert (ids(first), first.has_more) == (["j5", "j4", "j3", "j2"], True)
    second = page(store, limit=4, after=Place(START + 1, "j2"))
    assert (ids(second), second.total, second.has_more) == (["j1", "j0"], 6, False)


def test_jobs_discarded_between_two_pages_do_not_move_the_second(store: Store) -> None:
    put(store, *(dead(f"j{n}", n) for n in range(4)))
    assert ids(page(store, limit=2)) == ["j3", "j2"]
    put(store, dead("new", 9))
    assert ids(page(store, limit=2, after=Place(START + 2, "j2"))) == ["j1", "j0"]


def test_a_page_goes_on_also_when_the_last_one_has_left_the_list(store: Store) -> None:
    put(store, *(dead(f"j{n}", n) for n in range(4)))
    with store.transaction() as tx:
        tx.delete_jobs(["j2"])
    assert ids(page(store, limit=2, after=Place(START + 2, "j2"))) == ["j1", "j0"]


def test_a_page_may_be_named_by_its_offset(store: Store) -> None:
    put(store, *(dead(f"j{n}", n) for n in range(5)))
    found = page(store, limit=2, offset=2)
    assert (ids(found), found.total, found.has_more) == (["j2", "j1"], 5, True)
    assert ids(page(store, offset=9)) == []


@pytest.mark.parametrize(
    ("queue", "job_type", "found"),
    [
        ("mail", None, ["j3", "j1"]),
        (None, "t.a", ["j2", "j1"]),
        ("mail", "t.a", ["j1"]),
        ("unknown", None, []),
    ],
)
def test_the_list_can_be_of_one_queue_or_type(
    store: Store, queue: str | None, job_type: str | None, found: list[str]
) -> None:
    put(
        store,
        dead("j1", 1, queue="mail", type="t.a"),
        dead("j2", 2, queue="video", type="t.a"),
        dead("j3", 3, queue="mail", type="t.b"),
    )
    listed = page(store, queue, job_type)
    assert (ids(listed), listed.total) == (found, len(found))


def test_a_full_page_that_is_the_last_has_no_more(store: Store) -> None:
    put(store, dead("j1", 1), dead("j2", 2))
    assert not page(store, limit=2).has_more
    assert page(store, limit=1).has_more
