"""Tests of the played server's jobs, of its record of calls, and of its rules to misbehave."""

from typing import Any

import pytest

from conformance.played.book import Book, FetchTerms, Job, JobState, Refused
from conformance.played.calls import Kind, call_of
from conformance.played.record import Record, WorkerRequest, settlements, wants
from conformance.played.script import Script, refused, reset


def request_of(kind: Kind = Kind.ACK, number: int = 0, **body: Any) -> WorkerRequest:
    path = f"/ojs/v1/{kind}"
    return WorkerRequest(number=number, at=0.0, kind=kind, method="POST", path=path, body=body)


def wanted(count: int = 1, **terms: Any) -> FetchTerms:
    return FetchTerms(**{"queues": ["a", "b"], "worker_id": "w", **terms}, count=count)


def job(name: str, **members: Any) -> Job:
    return Job(id=name, type=members.pop("type", "test.echo"), args=[], **members)


@pytest.fixture
def book() -> Book:
    """Three jobs, one of them nowhere in particular."""
    made = Book()
    for one in (job("1", queue="b"), job("2", queue="a"), job("3")):
        made.offer(one)
    return made


def settle(book: Book, kind: Kind, name: str, **said: Any) -> Job:
    (told,) = settlements(request_of(kind, worker_id="w", job_id=name, **said))
    return book.settle(told)


def test_queues_go_in_their_order_and_a_job_without_one_lies_in_the_first(book: Book) -> None:
    assert [one.id for one in book.hand_out(wanted(5), 1.0)] == ["2", "3", "1"]
    assert [one.queue for one in book.jobs.values()] == ["b", "a", "a"]
    assert book.hand_out(wanted(5), 2.0) == []


def test_no_more_than_asked_for_unless_generous(book: Book) -> None:
    assert len(book.hand_out(wanted(1), 1.0)) == 1
    book.generous = True
    assert len(book.hand_out(wanted(1), 1.0)) == 2


def test_only_jobs_of_the_named_types(book: Book) -> None:
    book.offer(job("4", type="test.noop"))
    assert [one.id for one in book.hand_out(wanted(9, job_types=["test.noop"]), 1.0)] == ["4"]


def test_the_same_fetch_gets_the_same_jobs(book: Book) -> None:
    first = book.hand_out(wanted(2, fetch_id="f"), 1.0)
    assert book.hand_out(wanted(2, fetch_id="f"), 2.0) == first
    assert [one.attempt for one in first] == [1, 1]
    assert book.hand_out(wanted(2, fetch_id="f", worker_id="x"), 3.0) != first


@pytest.mark.parametrize(
    ("kind", "said", "options", "state"),
    [
        (Kind.ACK, {}, {}, JobState.COMPLETED),
        (Kind.FAIL, {}, {}, JobState.DISCARDED),
        (Kind.FAIL, {}, {"max_attempts": 2}, JobState.WAITING),
        (Kind.FAIL, {}, {"max_attempts": 2, "again": False}, JobState.RETRYABLE),
        (Kind.FAIL, {"error": {"retryable": False}}, {"max_attempts": 2}, JobState.DISCARDED),
        (Kind.FAIL, {"requeue": True}, {}, JobState.WAITING),
    ],
)
def test_what_becomes_of_a_settled_job(
    kind: Kind, said: dict[str, Any], options: dict[str, Any], state: JobState
) -> None:
    book = Book()
    book.offer(job("1", **options))
    book.hand_out(wanted(), 1.0)
    assert settle(book, kind, "1", attempt=1, **said).state is state


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"job_id": "9"}, 404),
        ({"job_id": "1"}, 409),
        ({"job_id": "2", "worker_id": "other"}, 409),
        ({"job_id": "2", "attempt": 2}, 409),
    ],
)
def test_who_may_not_settle(book: Book, said: dict[str, Any], status: int) -> None:
    book.hand_out(wanted(), 1.0)  # job 2
    (told,) = settlements(request_of(**{"worker_id": "w", **said}))
    with pytest.raises(Refused) as refusal:
        book.settle(told)
    assert refusal.value.status == status


def test_a_settled_job_is_known_by_its_delivery(book: Book) -> None:
    book.hand_out(wanted(), 1.0)
    (told,) = settlements(request_of(job_id="2", worker_id="w", attempt=1))
    assert not book.settled_before(told)
    book.settle(told)
    assert book.settled_before(told)


def test_listed_jobs_are_held_lost_or_cancelled(book: Book) -> None:
    book.hand_out(wanted(3), 1.0)
    book.take_back("1")
    book.take_back("3", JobState.CANCELLED)
    answer = book.answer_to_beat("w", ["1", "2", "3", "none", "2"])
    assert answer == {
        "jobs_extended": ["2"],
        "jobs_lost": ["1", "none"],
        "cancelled_jobs": ["3"],
    }
    assert book.answer_to_beat("other", ["2"])["jobs_lost"] == ["2"]


@pytest.mark.parametrize(
    ("line", "kind", "name"),
    [
        ("POST /ojs/v1/workers/fetch", Kind.FETCH, ""),
        ("POST /ojs/v1/jobs/fetch", Kind.FETCH, ""),
        ("POST /ojs/v1/jobs/j-1/ack", Kind.ACK, "j-1"),
        ("POST /ojs/v1/jobs/j-1/fail", Kind.FAIL, "j-1"),
        ("POST /ojs/v1/workers/w-1/ping", Kind.BEAT, "w-1"),
        ("DELETE /ojs/v1/workers/w-1", Kind.DEREGISTER, "w-1"),
        ("GET /ojs/v1/workers/fetch", Kind.OTHER, ""),
        ("POST /", Kind.OTHER, ""),
    ],
)
def test_calls_are_known_by_all_their_names(line: str, kind: Kind, name: str) -> None:
    call = call_of(*line.split())
    assert (call.kind, call.id) == (kind, name)


def test_outcomes_are_read_from_single_calls_and_from_many() -> None:
    results = [
        {"job_id": "1", "attempt": 2, "outcome": "ack", "result": 7},
        {"job_id": "2", "attempt": 1, "outcome": "fail", "requeue": True},
        "nonsense",
    ]
    first, second = settlements(request_of(Kind.SETTLE, worker_id="w", results=results))
    assert (first.job_id, first.outcome, first.attempt, first.result) == ("1", "ack", 2, 7)
    assert (second.outcome, second.requeue, second.worker_id) == ("fail", True, "w")
    assert settlements(request_of(Kind.SETTLE, results="none")) == []
    assert settlements(request_of(Kind.BEAT)) == []


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        (request_of(Kind.FETCH, count=3), 3),
        (request_of(Kind.FETCH), 1),
        (request_of(Kind.SETTLE, fetch={"queues": ["a"], "count": 2}), 2),
        (request_of(Kind.SETTLE, fetch=None), 0),
        (request_of(Kind.BEAT, count=3), 0),
    ],
)
def test_how_many_jobs_are_wanted(request_: WorkerRequest, count: int) -> None:
    assert wants(request_) == count


def test_a_beat_lists_jobs_in_any_spelling() -> None:
    assert request_of(Kind.BEAT, active_job_ids=["1"], active_jobs=["2"]).listed == ["1"]
    assert request_of(Kind.BEAT, active_jobs=["2"]).listed == ["2"]
    assert request_of(Kind.BEAT, active_jobs=2).listed == []
    assert request_of(Kind.BEAT, job_id="3").listed == ["3"]


def test_the_record_answers_by_kind_and_place() -> None:
    record = Record()
    for one in (
        request_of(Kind.BEAT, 0, worker_id="w"),
        request_of(Kind.FETCH, 1),
        request_of(Kind.ACK, 2, job_id="a"),
        request_of(Kind.SETTLE, 3, results=[{"job_id": name, "outcome": "fail"} for name in "ab"]),
    ):
        record.add(one)
    assert [one.number for one in record.of(Kind.BEAT, Kind.ACK)] == [0, 2]
    assert [one.number for one in record.of(Kind.BEAT, Kind.ACK, after=1)] == [2]
    assert [one.number for one in record.of(*Kind, worker="w")] == [0]
    assert [one.number for one in record.fetches()] == [1]
    assert [one.outcome for one in record.settled("a")] == ["ack", "fail"]
    assert [one.job_id for one in record.settled()] == ["a", "a", "b"]
    assert record.settled("c") == []


def test_rules_hold_for_their_calls_and_so_many_times() -> None:
    script = Script()
    end = script.add(Kind.BEAT, do=refused(500))
    script.add(Kind.ACK, do=reset(), times=1)
    assert script.odd(request_of(Kind.BEAT)) == refused(500)
    assert script.odd(request_of(Kind.FETCH)) is None
    assert [script.odd(request_of(Kind.ACK)) for _ in range(2)] == [reset(), None]
    script.add(Kind.BEAT, do=lambda _: None)  # says nothing, so the older one counts
    assert script.odd(request_of(Kind.BEAT)) == refused(500)
    end()
    assert script.odd(request_of(Kind.BEAT)) is None
