"""The store contract: the list of discarded jobs, newest first."""

import pytest

from ojs_server.domain.jobs.dead_letter import Mark
from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import StoredJob
from ojs_server.store.base import Store
from ojs_server.store.records import DeadLetterGroup, DeadLetterStats, JobPage, ListPosition
from ojs_server.store.tables import dead_letters
from tests.store.records import ON_ALL_VERSIONS, START, a_job, put, whole


def dead(job_id: str, finished: int, **fields: object) -> StoredJob:
    return a_job(job_id, state="discarded", finished_at=START + finished, **fields)


def page(
    store: Store,
    queue: str | None = None,
    job_type: str | None = None,
    limit: int = 99,
    offset: int = 0,
    after: ListPosition | None = None,
) -> JobPage:
    return listed(store, JobFilter(queue=queue, type=job_type), limit, offset, after)


def listed(
    store: Store,
    wanted: JobFilter,
    limit: int = 99,
    offset: int = 0,
    after: ListPosition | None = None,
) -> JobPage:
    with store.reader() as reader:
        return reader.dead_letters(wanted, limit, offset, after)


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
    second = page(store, limit=4, after=ListPosition(START + 1, "j2"))
    assert (ids(second), second.total, second.has_more) == (["j1", "j0"], 6, False)


def test_jobs_discarded_between_two_pages_do_not_move_the_second(store: Store) -> None:
    put(store, *(dead(f"j{n}", n) for n in range(4)))
    assert ids(page(store, limit=2)) == ["j3", "j2"]
    put(store, dead("new", 9))
    assert ids(page(store, limit=2, after=ListPosition(START + 2, "j2"))) == ["j1", "j0"]


def test_a_page_goes_on_also_when_the_last_one_has_left_the_list(store: Store) -> None:
    put(store, *(dead(f"j{n}", n) for n in range(4)))
    with store.transaction() as tx:
        tx.delete_jobs(["j2"])
    assert ids(page(store, limit=2, after=ListPosition(START + 2, "j2"))) == ["j1", "j0"]


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


def kept(*ids: str, error_type: str | None = None) -> list[Mark]:
    return [Mark(job_id, error_type, kept=True) for job_id in ids]


@ON_ALL_VERSIONS
def test_the_list_can_be_of_one_error(store: Store) -> None:
    put(store, *(dead(f"j{n}", n, queue=f"q{n % 2}") for n in range(4)))
    with store.transaction() as tx:
        tx.mark_dead(kept("j0", "j1", "j2", error_type="T"))
    assert ids(listed(store, JobFilter(error_type="T"))) == ["j2", "j1", "j0"]
    assert ids(listed(store, JobFilter(error_type="T", queue="q0"))) == ["j2", "j0"]
    assert ids(listed(store, JobFilter(error_type="other"))) == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (JobFilter(since=START + 1, ended=True), ["j3", "j2", "j1"]),
        (JobFilter(until=START + 1, ended=True), ["j0"]),
        (JobFilter(since=START + 1, until=START + 3, ended=True), ["j2", "j1"]),
        (JobFilter(prefix="t.a"), ["j3", "j2", "j1", "j0"]),
        (JobFilter(prefix="t.a1"), ["j1"]),
        (JobFilter(prefix="%"), []),
        (JobFilter(priority=2), ["j2"]),
    ],
    ids=str,
)
def test_the_list_can_be_narrowed(store: Store, wanted: JobFilter, found: list[str]) -> None:
    put(store, *(dead(f"j{n}", n, type=f"t.a{n}", priority=n) for n in range(4)))
    page = listed(store, wanted)
    assert (ids(page), page.total) == (found, len(found))


@ON_ALL_VERSIONS
def test_dead_letters_are_counted_by_queue_and_by_error(store: Store) -> None:
    put(store, *(dead(f"j{n}", n, queue=f"q{n % 2}") for n in range(5)), a_job("alive"))
    with store.transaction() as tx:
        tx.mark_dead(kept("j0", "j1", "j2", error_type="T"))
    with store.reader() as reader:
        stats = reader.dead_letter_stats()
    groups = [
        DeadLetterGroup("mail.send", "T", 3, START + 2, "j2"),
        DeadLetterGroup("mail.send", None, 2, START + 4, "j4"),
    ]
    by_queue, by_error = {"q0": 3, "q1": 2}, {"T": 3, None: 2}
    assert stats == DeadLetterStats(by_queue, by_error, groups, START, START + 4)


def test_the_newest_dead_letters_are_grouped_by_type_and_error(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "GROUPED", 3)
    monkeypatch.setattr(dead_letters, "GROUPS", 1)
    put(store, *(dead(f"j{n}", n, type="a" if n < 4 else "b") for n in range(6)))
    with store.reader() as reader:
        groups = reader.dead_letter_stats().groups
    assert groups == [DeadLetterGroup("b", None, 2, START + 5, "j5")]


def test_without_dead_letters_there_is_nothing_to_count(store: Store) -> None:
    with store.reader() as reader:
        assert reader.dead_letter_stats() == DeadLetterStats({}, {}, [], None, None)


def surplus(store: Store, most: int, limit: int = 99, **own: int) -> list[str]:
    with store.transaction() as tx:
        return [job.id for job in tx.load_surplus(most, own, limit)]


@ON_ALL_VERSIONS
def test_the_oldest_of_a_full_queue_are_too_many(store: Store) -> None:
    put(store, *(dead(f"{queue}{n}", n, queue=queue) for queue in "ab" for n in range(5)))
    put(store, *(dead(f"c{n}", n, queue="c") for n in range(9)))
    with store.transaction() as tx:
        tx.mark_dead(kept(*(f"{queue}{n}" for queue in "ab" for n in range(5))))
        tx.mark_dead([Mark(f"c{n}", None, kept=False) for n in range(9)])
        tx.add_counts({"a": {"discarded": 5}, "b": {"discarded": 5}, "c": {"discarded": 9}})
    assert surplus(store, 3) == ["a0", "a1", "b0", "b1"]
    assert surplus(store, 3, limit=3) == ["a0", "a1", "b0"]
    assert surplus(store, 5) == []
    assert surplus(store, 0, limit=1) == ["a0"]
    assert surplus(store, 3, a=4, c=1) == ["a0", "b0", "b1"]
    assert surplus(store, 5, b=4) == ["b0"]
    assert surplus(store, 3, a=9, b=9) == []


def test_what_is_kept_for_no_policy_is_in_nobodys_way(store: Store) -> None:
    put(store, *(dead(f"j{n}", n) for n in range(4)))
    with store.transaction() as tx:
        tx.mark_dead([*kept("j0", "j1"), *(Mark(f"j{n}", None, kept=False) for n in (2, 3))])
        tx.add_counts({"default": {"discarded": 4}})
    assert surplus(store, 2) == []
    assert surplus(store, 1) == ["j0"]


@ON_ALL_VERSIONS
def test_a_job_can_be_overridden(store: Store) -> None:
    put(store, dead("j1", 1, unique_key=b"old"), dead("j2", 2))
    changed = a_job(
        "j1",
        state="discarded",
        finished_at=START + 1,
        queue="other",
        max_attempts=9,
        spec=b'{"retry":{}}',
        args=b'["\\u0000"]',
        meta=b'{"a":1}',
        unique_key=b"\x00new",
    )
    with store.transaction() as tx:
        tx.override_jobs([changed])
    assert whole(store, "j1") == changed
    assert whole(store, "j2") == dead("j2", 2)
