"""Removal of events and dead letters beyond their limits, in steps."""

import pytest

from ojs_server.domain.retention import Retention
from ojs_server.ops import retention
from ojs_server.ops.jobs.settle import Remove, Revive
from ojs_server.ops.rules import Rules
from ojs_server.ops.sweep import Sweep, Swept
from ojs_server.store.base import Store
from ojs_server.store.records import EventFilter
from tests.ops.bench import Bench, HandClock
from tests.ops.limits.test_queue_limits import configure

DEAD_LETTER = {"max_attempts": 1, "on_exhaustion": "dead_letter"}


def limited(store: Store, clock: HandClock, **keep: int) -> Bench:
    return Bench(store, clock, Rules(keep=Retention(**keep)))


def swept(bench: Bench) -> Swept:
    found: Swept = bench.do(Sweep(0, bench.clock.now, prune=True))
    return found


def declare_dead(bench: Bench, queue: str = "q", retry: dict[str, object] | None = None) -> str:
    job_id = bench.put(queue=queue, retry=retry or DEAD_LETTER)
    bench.take(queues=(queue,))
    bench.fail(job_id)
    bench.clock.advance(1)
    return job_id


def left(bench: Bench, ids: list[str]) -> list[str]:
    with bench.store.reader() as reader:
        return [job_id for job_id in ids if reader.job(job_id) is not None]


def events(store: Store) -> int:
    with store.reader() as reader:
        return len(reader.events(0, EventFilter(), 1000).events)


def test_a_queue_keeps_its_latest_dead_letters(bench: Bench, clock: HandClock) -> None:
    bench = limited(bench.store, clock, dead_letters=2)
    ids = [declare_dead(bench) for _ in range(5)]
    others = [declare_dead(bench, "other") for _ in range(2)]
    assert swept(bench).removed == 3
    assert left(bench, [*ids, *others]) == [*ids[3:], *others]
    assert bench.counts() == {"discarded": 2}
    assert bench.events_of(ids[0])[-1][0] == "dead_letter.pruned"
    assert bench.events_of(ids[0])[-1][1]["reason"] == "count"
    assert swept(bench).removed == 0


def test_what_no_policy_keeps_does_not_count(bench: Bench, clock: HandClock) -> None:
    bench = limited(bench.store, clock, dead_letters=1)
    kept = declare_dead(bench)
    noise = [declare_dead(bench, retry={"max_attempts": 1}) for _ in range(3)]
    by_word = bench.put()
    bench.take()
    bench.fail(by_word, {"code": "DEAD_LETTER"})
    assert swept(bench).removed == 1
    assert left(bench, [kept, *noise, by_word]) == [*noise, by_word]


def test_a_queue_may_keep_more_or_fewer_of_them(bench: Bench, clock: HandClock) -> None:
    bench = limited(bench.store, clock, dead_letters=2)
    bench.do(configure(dead_letter_max_size=1))
    bench.do(configure("many", dead_letter_max_size=3))
    ids = {
        queue: [declare_dead(bench, queue) for _ in range(4)] for queue in ("q", "many", "other")
    }
    assert swept(bench).removed == 3 + 1 + 2
    assert {queue: left(bench, jobs) for queue, jobs in ids.items()} == {
        "q": ids["q"][3:],
        "many": ids["many"][1:],
        "other": ids["other"][2:],
    }


def test_jobs_given_up_before_they_started_count_as_well(bench: Bench, clock: HandClock) -> None:
    bench = limited(bench.store, clock, dead_letters=1)
    bench.do(configure(backpressure={"max_depth": 1, "strategy": "drop_oldest"}))
    pushed_out = bench.put(retry=DEAD_LETTER)
    unkept = bench.put(retry={"max_attempts": 1})
    clock.advance(1)
    bench.put(rate_limit={"key": "k", "concurrency": 0, "on_limit": "drop"}, retry=DEAD_LETTER)
    clock.advance(1)
    assert bench.take_ids() == []
    assert swept(bench).removed == 1
    assert left(bench, [pushed_out, unkept]) == [unkept]


def test_a_job_that_was_retried_is_no_dead_letter(bench: Bench, clock: HandClock) -> None:
    bench = limited(bench.store, clock, dead_letters=1)
    ids = [declare_dead(bench) for _ in range(3)]
    bench.do(Revive(ids[1]))
    bench.do(Remove(ids[2]))
    assert swept(bench).removed == 0
    assert left(bench, ids) == ids[:2]


def test_dead_letters_go_in_steps(
    bench: Bench, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "STEP", 2)
    bench = limited(bench.store, clock, dead_letters=1)
    ids = [declare_dead(bench) for _ in range(4)]
    first = swept(bench)
    assert (first.removed, first.more) == (2, True)
    assert left(bench, ids) == ids[2:]
    assert swept(bench).removed == 1
    assert left(bench, ids) == ids[3:]


def test_the_oldest_events_beyond_their_number_go_in_steps(
    bench: Bench, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "STEP", 4)
    bench = limited(bench.store, clock, events=3)
    for _ in range(9):
        bench.put()
    with bench.store.reader() as reader:
        before = [placed.position for placed in reader.events(0, EventFilter(), 99).events]
    first = swept(bench)
    assert (first.removed, first.more) == (4, True)
    assert swept(bench).removed == 2
    assert swept(bench).removed == 0
    with bench.store.reader() as reader:
        # A cursor from before begins with what is kept.
        page = reader.events(before[1], EventFilter(), 99)
    assert [placed.position for placed in page.events] == before[6:]


def test_a_count_goes_on_until_it_has_caught_up(
    bench: Bench, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "COUNT_STEP", 4)
    bench = limited(bench.store, clock, events=8)
    for _ in range(10):
        bench.put()
    rounds = [swept(bench) for _ in range(3)]
    assert [one.more for one in rounds] == [True, True, False]
    assert [one.removed for one in rounds] == [0, 0, 2]
    assert events(bench.store) == 8


def test_events_that_are_too_old_go_first_of_all(bench: Bench, clock: HandClock) -> None:
    bench = limited(bench.store, clock, events=100, events_ms=1000)
    bench.put()
    clock.advance(1001)
    bench.put()
    assert swept(bench).removed == 1
    assert events(bench.store) == 1
    assert swept(bench).removed == 0
