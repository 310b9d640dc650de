"""Configuration of a queue: rate limits at the claim, defaults for jobs, retention, job types."""

from collections.abc import Callable
from typing import Any

import pytest

from ojs_server.domain.errors import Conflict, InvalidRequest
from ojs_server.domain.jobs.dead_letter import RetryChanges
from ojs_server.domain.queues.config import QueueConfig, parse_config
from ojs_server.domain.retention import DAY
from ojs_server.ops.admin.maintenance import Reset
from ojs_server.ops.jobs.settle import Ack, Cancel, Revive
from ojs_server.ops.limits.reopening import Reopen
from ojs_server.ops.queues.control import Configure, Purge
from ojs_server.ops.workers.claim import Claim
from ojs_server.store.open import open_store
from tests.ops.bench import Bench, HandClock, enqueue
from tests.ops.statements import ways


def configure(queue: str = "q", **body: Any) -> Configure:
    """Replace these parts of a queue's settings."""
    return Configure(queue, lambda base: parse_config(body, strict=True, base=base))


@pytest.fixture
def statements(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the statements that transactions run, from here on."""
    with bench.store.transaction() as tx:
        kind = type(tx)
    named: list[str] = []

    def noted(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(tx: object, name: str, /, *rows: Any, **bound: Any) -> Any:
            named.append(name)
            return call(tx, name, *rows, **bound)

        return called

    for name in ways(kind):
        monkeypatch.setattr(kind, name, noted(getattr(kind, name)))
    return named


def test_no_more_jobs_of_a_queue_run_than_its_concurrency(bench: Bench) -> None:
    bench.do(configure(concurrency=2))
    jobs = [bench.put() for _ in range(4)]
    assert bench.take_ids(count=9) == jobs[:2]
    assert bench.take_ids(count=9) == []
    bench.ack(jobs[0])
    assert bench.take_ids(count=9) == jobs[2:3]


def test_jobs_that_ran_before_the_limit_was_set_count(bench: Bench) -> None:
    jobs = [bench.put() for _ in range(4)]
    bench.take(count=3)
    bench.do(configure(concurrency=2))
    assert bench.take() == []
    bench.ack(jobs[0])
    assert bench.take() == []
    bench.ack(jobs[1])
    assert bench.take_ids(count=9) == jobs[3:]


def test_a_full_queue_is_passed_over_and_the_order_of_queues_is_kept(bench: Bench) -> None:
    bench.do(configure(concurrency=1))
    bench.do(configure("b", concurrency=1))
    a, b = [bench.put() for _ in range(2)], [bench.put(queue="b") for _ in range(2)]
    free = [bench.put(queue="free") for _ in range(2)]
    assert bench.take_ids(count=3, queues=("free", "b", "q")) == [*free, b[0]]
    assert bench.take_ids(count=9, queues=("b", "q", "free")) == [a[0]]


def test_two_fetches_of_one_batch_share_a_queue_s_limit(bench: Bench) -> None:
    bench.do(configure(concurrency=3))
    for _ in range(9):
        bench.put()
    asked = [Claim(("q",), 2, f"w{n}", None if n % 2 else ("t",)) for n in range(4)]
    answers = bench.commit(*asked).outcomes
    assert sum(map(len, answers)) == 3


def test_a_slot_freed_in_the_batch_is_used_in_it(bench: Bench) -> None:
    bench.do(configure(concurrency=1))
    first, second = bench.put(), bench.put()
    bench.take()
    _, claimed = bench.commit(Ack(first), Claim(("q",))).outcomes
    assert [one.claimed.job.id for one in claimed] == [second]


def test_the_end_of_a_job_wakes_who_waits_for_its_queue(bench: Bench) -> None:
    bench.do(configure(concurrency=1))
    first, _ = bench.put(), bench.put()
    bench.take()
    assert bench.commit(Ack(first)).wakes == {"q": 1}
    unlimited = bench.put(queue="other")
    bench.take(queues=("other",))
    assert bench.commit(Ack(unlimited)).wakes == {}


def test_a_queue_s_rate_opens_with_time_and_wakes_who_waits(bench: Bench) -> None:
    bench.do(configure(rate_limit={"limit": 2, "period": "PT1S"}))
    jobs = [bench.put() for _ in range(5)]
    assert bench.take_ids(count=5) == jobs[:2]
    assert bench.take(count=5) == []
    bench.clock.advance(1000)
    committed = bench.commit(Reopen())
    assert committed.wakes["q"] > 0
    assert bench.take_ids(count=5) == jobs[2:4]


def test_both_the_queue_and_the_key_must_allow_a_start(bench: Bench) -> None:
    bench.do(configure(concurrency=2))
    keyed = [bench.put(rate_limit={"key": "k", "concurrency": 1}) for _ in range(2)]
    free = [bench.put(priority=-1) for _ in range(2)]
    assert bench.take_ids(count=9) == [keyed[0], free[0]]
    assert bench.take_ids(count=9, queues=("q",)) == []
    elsewhere = bench.put(queue="b", rate_limit={"key": "k", "concurrency": 1})
    assert bench.take_ids(count=9, queues=("b",)) == []
    bench.ack(keyed[0])
    assert bench.take_ids(count=9, queues=("b", "q")) == [elsewhere, free[1]]


def test_a_queue_with_a_concurrency_of_zero_hands_nothing_out(bench: Bench) -> None:
    bench.do(configure(concurrency=0))
    job = bench.put()
    assert bench.take() == []
    bench.do(configure(concurrency=None))
    assert bench.take_ids() == [job]


def test_the_lease_is_the_fetch_s_the_job_s_the_queue_s_or_the_server_s(bench: Bench) -> None:
    bench.do(configure(visibility_timeout=70))
    for given, fetch, wanted in (
        ({}, None, 70_000),
        ({"visibility_timeout": 40}, None, 40_000),
        ({"visibility_timeout": 40}, 20_000, 20_000),
        ({"queue": "other"}, None, 1_800_000),
    ):
        bench.put(**given)
        (taken,) = bench.take(queues=("q", "other"), lease_ms=fetch)
        assert taken.lease.duration_ms == wanted


def test_a_queue_has_a_default_timeout_and_retry_for_its_jobs(bench: Bench) -> None:
    bench.do(configure(default_timeout=30, default_retry={"max_attempts": 7}))
    plain, own = bench.put(), bench.put(timeout=5, retry={"max_attempts": 2})
    assert [bench.job(job).max_attempts for job in (plain, own)] == [7, 2]
    deadlines = [one.lease.deadline_at for one in bench.take(count=2)]
    assert deadlines == [bench.clock.now + 30_000, bench.clock.now + 5_000]


def test_a_queue_keeps_its_finished_jobs_for_as_long_as_it_says(bench: Bench) -> None:
    bench.do(configure(retention={"completed": "PT1H", "cancelled": "PT2H", "discarded": "PT3H"}))
    jobs = [bench.put(retry={"max_attempts": 1, "on_exhaustion": "dead_letter"}) for _ in range(3)]
    bench.take(count=2)
    bench.ack(jobs[0])
    bench.fail(jobs[1])
    bench.do(Cancel(jobs[2]))
    for job, hours in zip(jobs, (1, 3, 2), strict=True):
        assert bench.job(job).due_at == bench.clock.now + hours * 3_600_000
    other = bench.put(queue="other")
    bench.do(Cancel(other))
    assert bench.job(other).due_at == bench.clock.now + 7 * DAY


def test_a_queue_keeps_its_dead_letters_for_a_time_of_their_own(bench: Bench) -> None:
    policies: tuple[dict[str, Any], ...] = ({"on_exhaustion": "dead_letter"}, {})
    for settings, hours in (
        ({"dead_letter_ttl": "PT5H"}, [5, 30 * 24]),
        ({"retention": {"discarded": "PT3H"}}, [5, 3]),
        ({"dead_letter_ttl": None}, [3, 3]),
    ):
        bench.do(configure(**settings))
        jobs = [bench.put(retry={"max_attempts": 1, **policy}) for policy in policies]
        bench.take(count=2)
        for job, kept in zip(jobs, hours, strict=True):
            bench.fail(job)
            assert bench.job(job).due_at == bench.clock.now + kept * 3_600_000


def test_a_queue_takes_only_the_types_it_names(bench: Bench) -> None:
    bench.do(configure(allowed_job_types=["t", "mail.*"]))
    bench.put(type="mail.send")
    with pytest.raises(InvalidRequest, match=r"takes no jobs of type report\.make"):
        bench.put(type="report.make")
    with pytest.raises(InvalidRequest):
        bench.do(enqueue(jobs=[{}, {"type": "report.make"}]))
    assert bench.counts() == {"available": 1}


def test_a_request_that_was_answered_is_answered_again_whatever_types_count_now(
    bench: Bench,
) -> None:
    request, later = enqueue(key="mine"), enqueue(key="other")
    stored = bench.do(request).jobs[0].job.id
    bench.do(configure(allowed_job_types=["mail.*"]))
    assert bench.do(request).jobs[0].job.id == stored
    with pytest.raises(InvalidRequest):
        bench.do(later)
    bench.do(configure(allowed_job_types=None))
    # The refused one has left its key free.
    assert bench.do(later).created


def test_a_dead_letter_goes_only_to_a_queue_that_takes_its_type(bench: Bench) -> None:
    bench.do(configure("mails", allowed_job_types=["mail.*"]))
    job_id = bench.put(retry={"max_attempts": 1})
    bench.take()
    bench.fail(job_id)
    with pytest.raises(InvalidRequest, match="queue mails takes no jobs of type t"):
        bench.do(Revive(job_id, RetryChanges(queue="mails")))
    assert (bench.job(job_id).queue, bench.state(job_id)) == ("q", "discarded")
    bench.do(Revive(job_id, RetryChanges(queue="other")))
    assert bench.take_ids(queues=("other",)) == [job_id]


def test_a_new_queue_is_refused_where_there_is_one(bench: Bench) -> None:
    made = bench.do(Configure("new", lambda base: base, new=True))
    assert made.config == QueueConfig()
    with pytest.raises(Conflict):
        bench.do(Configure("new", lambda base: base, new=True))
    bench.put()
    with pytest.raises(Conflict):
        bench.do(Configure("q", lambda base: base, new=True))


def test_settings_survive_a_restart_and_end_with_a_reset(store_url: str) -> None:
    clock = HandClock()
    store = open_store(store_url, clock=clock)
    Bench(store, clock).do(configure(concurrency=1))
    store.close()
    again = open_store(store_url, clock=clock)
    bench = Bench(again, clock)
    jobs = [bench.put() for _ in range(2)]
    assert bench.take_ids(count=2) == jobs[:1]
    bench.do(Reset())
    jobs = [bench.put() for _ in range(2)]
    assert bench.take_ids(count=2) == jobs
    again.close()


def test_settings_that_were_rolled_back_do_not_count(bench: Bench) -> None:
    def fails(base: QueueConfig) -> QueueConfig:
        raise InvalidRequest("no")

    with pytest.raises(InvalidRequest):
        bench.do(Configure("q", fails))
    jobs = [bench.put() for _ in range(2)]
    assert bench.take_ids(count=2) == jobs


def test_a_purge_removes_jobs_of_its_queue_states_and_age_only(bench: Bench) -> None:
    old = bench.put()
    bench.clock.advance(1000)
    new, active, elsewhere = bench.put(priority=-1), bench.put(priority=1), bench.put(queue="b")
    bench.take()
    purge = Purge((old, new, active, elsewhere), "q", ("available",), bench.clock.now)
    assert bench.do(purge).count == 1
    assert [bench.exists(job) for job in (old, new, active, elsewhere)] == [False, *[True] * 3]
    assert bench.counts() == {"available": 1, "active": 1}
    assert bench.event_types("q") == ["queue.purged"]


def test_a_purged_job_lets_the_next_of_its_key_come(bench: Bench) -> None:
    policy = {"rate_limit": {"key": "k", "concurrency": 1}}
    first, second = bench.put(**policy), bench.put(**policy)
    bench.do(Purge((first,), "q", ("available",)))
    assert bench.take_ids() == [second]


def a_life(bench: Bench, statements: list[str]) -> list[str]:
    """The statements of one job's way from enqueue to ACK."""
    statements.clear()
    job = bench.put()
    bench.take()
    bench.ack(job)
    return list(statements)


def test_jobs_and_queues_without_limits_cost_no_statement(
    bench: Bench, statements: list[str]
) -> None:
    bench.take()
    plain = a_life(bench, statements)
    named = {
        "load_limits",
        "save_limits",
        "release_gated",
        "gated_keys",
        "queue_loads",
        "keep_taken",
    }
    assert named.isdisjoint(plain)
    bench.do(configure("elsewhere", concurrency=1, backpressure={"max_depth": 5}))
    bench.put(queue="b", rate_limit={"key": "k", "concurrency": 1})
    # The node reads what has changed once.
    bench.put(queue="elsewhere")
    assert named & set(statements) == {"load_limits", "release_gated", "queue_loads"}
    assert a_life(bench, statements) == plain
