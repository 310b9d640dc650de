"""The store contract: the jobs that match a filter, newest first, at a bounded cost."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from ojs_server.domain.jobs.dead_letter import Mark
from ojs_server.domain.jobs.filter import JobFilter
from ojs_server.domain.jobs.job import STATES, State
from ojs_server.store.base import Store
from ojs_server.store.records import JobIds, ListPosition
from ojs_server.store.tables import job_lists
from tests.store.records import ON_ALL_VERSIONS, START, a_job, a_lease, change, hold, put

UNHELD = ["scheduled", "available", "pending", "retryable", "completed", "cancelled", "discarded"]


def find(
    store: Store,
    wanted: JobFilter | None = None,
    limit: int = 99,
    after: str | None = None,
    offset: int = 0,
) -> JobIds:
    with store.reader() as reader:
        return reader.find_jobs(wanted or JobFilter(), limit, after, offset)


def every(store: Store, wanted: JobFilter, limit: int) -> list[list[str]]:
    """All parts of a list."""
    parts = [find(store, wanted, limit)]
    while parts[-1].after is not None:
        parts.append(find(store, wanted, limit, parts[-1].after))
    return [list(part.ids) for part in parts]


@contextmanager
def short_sight(monkeypatch: pytest.MonkeyPatch, look: int) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(job_lists, "LOOK_AHEAD", look)
        yield


@ON_ALL_VERSIONS
def test_jobs_are_listed_newest_first(store: Store) -> None:
    put(store, *(a_job(f"j{n}") for n in (2, 0, 1)))
    assert find(store) == JobIds(["j2", "j1", "j0"], None)
    assert find(store, limit=2) == JobIds(["j2", "j1"], "j1")
    assert find(store, limit=2, after="j1") == JobIds(["j0"], None)
    assert find(store, limit=2, offset=1) == JobIds(["j1", "j0"], None)
    assert find(store, limit=3) == JobIds(["j2", "j1", "j0"], None)


@ON_ALL_VERSIONS
@pytest.mark.parametrize("state", UNHELD)
def test_jobs_of_a_state_are_listed_with_and_without_their_queue(store: Store, state: str) -> None:
    jobs = [
        a_job(f"{queue}{n}{one}", state=one, queue=queue)
        for one in UNHELD
        for queue in "ab"
        for n in range(2)
    ]
    put(store, *jobs)
    wanted = JobFilter(states=(state,))
    names = [f"{queue}{n}{state}" for queue in "ba" for n in (1, 0)]
    assert find(store, wanted).ids == names
    assert find(store, JobFilter(states=(state,), queue="a")).ids == names[2:]
    assert every(store, wanted, 3)[0] == names[:3]


@ON_ALL_VERSIONS
def test_held_jobs_are_found_by_their_leases(store: Store) -> None:
    hold(store, *(a_lease(f"h{n}") for n in range(3)))
    put(store, *(a_job(f"j{n}") for n in range(9)))
    assert find(store, JobFilter(states=(State.ACTIVE,))).ids == ["h2", "h1", "h0"]
    assert every(store, JobFilter(states=(State.ACTIVE,)), 2) == [["h2", "h1"], ["h0"]]


@ON_ALL_VERSIONS
def test_jobs_that_hold_a_unique_key_are_listed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [
        a_job(f"{n}{state}", state=state, queue=f"q{n}", tenant=tenant, unique_key=key)
        for n, (tenant, key) in enumerate(((None, b"1"), ("t", b"2"), (None, None)))
        for state in UNHELD
    ]
    put(store, *jobs)
    names = [
        f"{n}{state}"
        for n in (1, 0)
        for state in ("scheduled", "retryable", "pending", "available")
    ]
    assert find(store, JobFilter(unique=True)).ids == names
    assert find(store, JobFilter(unique=True, queue="q0")).ids == names[4:]
    assert find(store, JobFilter(unique=True, tenant="t")).ids == names[:4]
    assert every(store, JobFilter(unique=True), 5) == [names[:5], names[5:]]
    with short_sight(monkeypatch, 3):
        assert every(store, JobFilter(unique=True, queue="q0"), 9) == [[], [*names[4:6]], names[6:]]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (JobFilter(queue="q"), ["j3", "j1"]),
        (JobFilter(type="t.a"), ["j1", "j0"]),
        (JobFilter(prefix="t."), ["j3", "j1", "j0"]),
        (JobFilter(priority=5), ["j2"]),
        (JobFilter(since=START + 2), ["j3", "j2"]),
        (JobFilter(until=START + 1), ["j0"]),
        (JobFilter(states=(State.AVAILABLE, State.DISCARDED)), ["j3", "j2", "j1"]),
        (JobFilter(error_type="T"), ["j3"]),
        (JobFilter(since=START + 50, ended=True), ["j3"]),
        (JobFilter(meta={"a": 1}), ["j1"]),
        (JobFilter(meta={"a": True}), ["j2"]),
        (JobFilter(meta={"a": 1, "b": None}), []),
        (JobFilter(queue="q\0"), []),
    ],
    ids=str,
)
def test_all_that_is_given_must_hold(store: Store, wanted: JobFilter, found: list[str]) -> None:
    put(
        store,
        a_job("j0", type="t.a", state="scheduled", created_at=START),
        a_job("j1", type="t.a", queue="q", created_at=START + 1, meta=b'{"a":1}'),
        a_job("j2", type="u", priority=5, created_at=START + 2, meta=b'{"a":true}'),
        a_job(
            "j3",
            type="t.b",
            queue="q",
            state="discarded",
            created_at=START + 3,
            finished_at=START + 50,
        ),
    )
    with store.transaction() as tx:
        tx.mark_dead([Mark("j3", "T", kept=True)])
    assert find(store, wanted).ids == found


@ON_ALL_VERSIONS
@pytest.mark.parametrize(
    "wanted",
    [
        JobFilter(type="rare"),
        JobFilter(type="rare", states=(State.SCHEDULED,)),
        JobFilter(type="rare", states=(State.SCHEDULED,), queue="default"),
    ],
    ids=str,
)
def test_a_look_through_what_is_not_meant_has_an_end(
    store: Store, wanted: JobFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {3: "rare", 7: "rare"}
    put(
        store,
        *(a_job(f"j{n}", type=kinds.get(n, "common"), state="scheduled") for n in range(9)),
    )
    with short_sight(monkeypatch, 4):
        assert find(store, wanted) == JobIds(["j7"], "j5")
        assert every(store, wanted, 9) == [["j7"], ["j3"], []]


def test_jobs_are_read_whole_in_the_order_of_the_list(store: Store) -> None:
    jobs = [a_job(f"j{n}", args=b"[%d]" % n) for n in range(3)]
    put(store, *jobs)
    with store.reader() as reader:
        assert reader.whole_jobs(["j1", "j2", "unknown", "j0"]) == jobs[::-1]


def test_jobs_are_found_by_the_worker_with_which_they_ended(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [a_job(f"j{n}", state="active").job for n in range(5)]
    put(store, *(a_job(job.id, state="active") for job in jobs))
    ends = ["completed", "discarded", "completed", "completed", "available"]
    with store.transaction() as tx:
        tx.write_changes(
            [
                msgspec.structs.replace(change(job, state=end), ended_by=worker)
                for job, end, worker in zip(jobs, ends, ["w", "w", "w", "other", None], strict=True)
            ]
        )

    def found(*states: str, limit: int = 9) -> list[str]:
        with store.reader() as reader:
            return reader.jobs_ended_by("w", states, limit)

    assert found(State.COMPLETED, State.DISCARDED) == ["j2", "j1", "j0"]
    assert found(State.COMPLETED, State.DISCARDED, limit=1) == ["j2"]
    assert found(State.COMPLETED) == ["j2", "j0"]
    with short_sight(monkeypatch, 4):
        assert found(State.COMPLETED) == ["j2"]
    with store.transaction() as tx:
        again = a_job("j0", state="completed").job
        tx.write_changes([change(again, state="available")])
    assert found(*STATES) == ["j2", "j1"]
    with store.reader() as reader:
        assert [reader.ended_by(job_id) for job_id in ("j3", "j2", "j0", "j9")] == [
            *("other", "w", None, None)
        ]


def scheduled(
    store: Store, wanted: JobFilter | None = None, limit: int = 99, *, latest_first: bool = False
) -> list[list[str]]:
    """All parts of the list of scheduled jobs."""
    parts: list[list[str]] = []
    after: ListPosition | None = None
    while not parts or after is not None:
        with store.reader() as reader:
            part = reader.find_scheduled(
                wanted or JobFilter(), limit, after, latest_first=latest_first
            )
        parts.append(list(part.ids))
        after = part.after
    return parts


def put_scheduled(store: Store, *minutes: int, **fields: Any) -> None:
    put(
        store,
        *(
            a_job(f"s{n}", state="scheduled", scheduled_at=START + at, due_at=START, **fields)
            for n, at in enumerate(minutes)
        ),
    )


@ON_ALL_VERSIONS
def test_scheduled_jobs_are_listed_by_their_time(store: Store) -> None:
    put_scheduled(store, 3, 1, 2, 1, 9)
    others = [one for one in UNHELD if one != State.SCHEDULED]
    put(store, *(a_job(f"x{one}", state=one, scheduled_at=START) for one in others))
    in_order = ["s1", "s3", "s2", "s0", "s4"]
    assert scheduled(store) == [in_order]
    assert scheduled(store, latest_first=True) == [in_order[::-1]]
    assert scheduled(store, limit=2) == [in_order[:2], in_order[2:4], in_order[4:]]
    assert scheduled(store, limit=2, latest_first=True) == [["s4", "s0"], ["s2", "s3"], ["s1"]]
    assert scheduled(store, limit=5) == [in_order]
    assert scheduled(store, limit=5, latest_first=True) == [in_order[::-1]]
    with store.reader() as reader:
        assert reader.find_scheduled(JobFilter(), 2, offset=3).ids == in_order[3:]


@ON_ALL_VERSIONS
def test_a_look_through_scheduled_jobs_has_an_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_scheduled(store, *range(9), type="common")
    rare = a_job("r", state="scheduled", scheduled_at=START + 6, type="rare", tenant="t")
    put(store, rare)
    for wanted in (JobFilter(type="rare"), JobFilter(tenant="t"), JobFilter(prefix="r")):
        assert scheduled(store, wanted) == [["r"]]
        with short_sight(monkeypatch, 4):
            assert scheduled(store, wanted) == [[], ["r"], []]
            assert scheduled(store, wanted, latest_first=True) == [["r"], [], []]


def test_a_cursor_of_scheduled_jobs_is_a_place(store: Store) -> None:
    put_scheduled(store, 1, 3)
    with store.reader() as reader:
        first = reader.find_scheduled(JobFilter(), 1)
    put(store, a_job("t", state="scheduled", scheduled_at=START + 2))
    with store.transaction() as tx:
        tx.delete_jobs(["s0"])
    with store.reader() as reader:
        assert reader.find_scheduled(JobFilter(), 9, first.after).ids == ["t", "s1"]


@ON_ALL_VERSIONS
def test_jobs_are_found_by_what_their_ids_begin_with(store: Store) -> None:
    put(store, *(a_job(one) for one in ("aa1", "ab1", "ab2", "ab3", "ac1")))
    assert every(store, JobFilter(id_prefix="ab"), 2) == [["ab3", "ab2"], ["ab1"]]
    assert find(store, JobFilter(id_prefix="ab")) == JobIds(["ab3", "ab2", "ab1"], None)
    assert find(store, JobFilter(id_prefix="ab"), after="aa9") == JobIds([], None)
    assert find(store, JobFilter(id_prefix="ad")) == JobIds([], None)


def test_ids_are_searched_for_no_further_than_they_can_be(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, *(a_job(f"a{n}") for n in range(9)), *(a_job(f"b{n}") for n in range(3)))
    with short_sight(monkeypatch, 4):
        assert find(store, JobFilter(id_prefix="b")) == JobIds(["b2", "b1", "b0"], None)


@ON_ALL_VERSIONS
def test_jobs_are_found_by_their_tags(store: Store) -> None:
    specs = {"j1": b'{"tags":["vip","\\"x\\""]}', "j2": b'{"tags":["vi"],"on":"vip"}', "j3": b"{}"}
    put(store, *(a_job(name, spec=spec) for name, spec in specs.items()))
    assert find(store, JobFilter(tag="vip")).ids == ["j1"]
    assert find(store, JobFilter(tag='"x"')).ids == ["j1"]
    assert find(store, JobFilter(tag="vip\0")).ids == []


@ON_ALL_VERSIONS
def test_jobs_are_found_by_a_text_in_their_args_and_meta(store: Store) -> None:
    put(
        store,
        a_job("j1", args='[{"to":"Jürgen 100%"}]'.encode()),
        a_job("j2", meta=b'{"order":4711}'),
        a_job("j3", args=b'["jurgen"]', type="order.x"),
    )
    found = {
        text: find(store, JobFilter(text=text)).ids
        for text in ("Jürgen", "urgen", "0%", '"order":47', "order.x", "\0")
    }
    assert found == {
        "Jürgen": ["j1"],
        "urgen": ["j3"],
        "0%": ["j1"],
        '"order":47': ["j2"],
        "order.x": [],
        "\0": [],
    }


def test_a_search_for_a_text_stops_and_says_where_to_go_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, a_job("j0", args=b'["rare"]'), *(a_job(f"j{n}") for n in range(1, 8)))
    monkeypatch.setattr(job_lists, "TEXT_AHEAD", 3)
    assert find(store, JobFilter(text="rare")) == JobIds([], "j5")
    assert every(store, JobFilter(text="rare"), 9) == [[], [], ["j0"]]


def test_what_is_large_is_not_searched(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_lists, "TEXT_BYTES", 20)
    put(store, a_job("j1", args=b'["here"]'), a_job("j2", args=b'["here%s"]' % (b"x" * 20)))
    assert find(store, JobFilter(text="here")).ids == ["j1"]


def test_scheduled_jobs_are_searched_like_others(store: Store) -> None:
    jobs = [
        a_job(f"j{n}", state="scheduled", scheduled_at=START + n, args=b'["%d"]' % n)
        for n in range(3)
    ]
    put(store, *jobs)
    with store.reader() as reader:
        assert reader.find_scheduled(JobFilter(text='"1"'), 9).ids == ["j1"]
        assert reader.find_scheduled(JobFilter(id_prefix="j2"), 9).ids == ["j2"]
        assert reader.find_scheduled(JobFilter(tag="t"), 9).ids == []
