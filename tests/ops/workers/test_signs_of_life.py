"""Signs of life other than BEATs: a FETCH shows that its worker lives, also while it waits."""

import asyncio
from collections.abc import Callable

import msgspec

from ojs_server.domain.profile import OJS, PROFILES
from ojs_server.domain.workers.worker import WorkerState
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.engine.signs import STEP, Signs
from ojs_server.ops.rules import Rules
from ojs_server.ops.sweep import Sweep
from ojs_server.ops.workers.claim import Claim, FetchedJobs
from ojs_server.ops.workers.fetch import fetch
from ojs_server.ops.workers.heartbeat import Beat
from ojs_server.ops.workers.presence import Deregister
from ojs_server.ops.workers.sessions import DropSession, OpenSession
from ojs_server.ops.workers.signs_of_life import SignsOfLife
from tests.ops.bench import Bench, HandClock, enqueue
from tests.ops.waiting_calls import WaitingCalls

EVERY_MS = OJS.sign_every_ms
LIMIT_S = 60


def test_a_fetch_shortly_after_a_beat_writes_nothing_and_is_told(bench: Bench) -> None:
    bench.beat()
    before = bench.worker()
    bench.clock.advance(EVERY_MS - 1)
    committed = bench.commit(Claim(("q",), 1, "w"))
    assert bench.worker() == before
    assert (committed.fetching, committed.now) == (["w"], bench.clock.now)
    bench.clock.advance(1)
    assert bench.commit(Claim(("q",), 1, "w")).fetching == []
    assert bench.worker().alive_at == bench.clock.now


def test_what_was_heard_counts_from_its_own_moment(bench: Bench) -> None:
    bench.beat()
    heard_at = bench.clock.now + 4_000
    bench.clock.advance(9_000)
    assert bench.do(SignsOfLife({"w": heard_at})) == 1
    assert bench.worker().alive_at == heard_at
    bench.clock.advance(25_000 - 1)
    assert bench.sweep().dead == 0
    bench.clock.advance(1)
    assert bench.sweep().dead == 1


def test_what_was_heard_before_a_beat_says_nothing_new(bench: Bench) -> None:
    heard_at = bench.clock.now
    bench.clock.advance(1_000)
    bench.beat()
    beaten = bench.worker()
    assert bench.do(SignsOfLife({"w": heard_at})) == 0
    assert bench.worker() == beaten


def test_who_is_held_is_written_where_what_is_known_is_old(bench: Bench) -> None:
    bench.beat()
    held = SignsOfLife({}, frozenset({"w"}))
    bench.clock.advance(EVERY_MS - 1)
    assert bench.do(held) == 0
    bench.clock.advance(1)
    assert bench.do(held) == 1
    assert bench.worker().alive_at == bench.clock.now


def test_who_only_fetches_is_seen_and_never_judged(bench: Bench) -> None:
    bench.take()
    bench.clock.advance(EVERY_MS)
    assert bench.do(SignsOfLife({}, frozenset({"w"}))) == 1
    worker = bench.worker()
    assert (worker.seen_at, worker.alive_at) == (bench.clock.now, None)


def test_nobody_is_brought_back_and_nobody_made_known_by_what_was_heard(bench: Bench) -> None:
    bench.beat()
    bench.do(Deregister("w"))
    before = bench.worker()
    bench.clock.advance(EVERY_MS)
    assert (
        bench.do(SignsOfLife({"w": bench.clock.now, "x": bench.clock.now}, frozenset({"w"}))) == 0
    )
    assert bench.worker() == before


def test_where_beats_alone_count_it_is_seen_and_no_more(
    with_rules: Callable[[Rules], Bench],
) -> None:
    bench = with_rules(Rules(profile=PROFILES["blackboard"]))
    bench.beat()
    before = bench.worker()
    bench.clock.advance(60_000)
    assert bench.do(SignsOfLife({}, frozenset({"w"}))) == 1
    assert bench.worker() == msgspec.structs.replace(before, seen_at=bench.clock.now)


def test_a_fetch_that_is_held_beyond_the_end_of_a_session_says_nothing(bench: Bench) -> None:
    bench.rules = Rules(profile=msgspec.structs.replace(OJS, session_grace_ms=5_000))
    bench.beat()
    bench.do(OpenSession("w"))
    bench.clock.advance(EVERY_MS)
    bench.do(DropSession("w", 1))
    bench.clock.advance(2_500)
    assert bench.do(SignsOfLife({"w": bench.clock.now}, frozenset({"w"}))) == 0
    # A FETCH since then is a sign of life.
    bench.take()
    bench.clock.advance(2_500)
    assert bench.sweep().dead == 0


def test_what_a_node_has_heard_is_told_once_and_who_is_held_each_time() -> None:
    signs = Signs()
    assert not signs
    signs.note(["a", "b"], 5)
    signs.note(["a"], 7)
    signs.note(["b"], 4)
    with signs.held("b"), signs.held("b"), signs.held("c"), signs.held(None):
        assert signs.take() == [({"a": 7, "b": 5}, frozenset("bc"))]
        assert signs
        assert signs.take() == [({}, frozenset("bc"))]
    assert not signs
    assert signs.take() == []
    signs.note(map(str, range(STEP + 1)), 1)
    assert [len(at) for at, _ in signs.take()] == [STEP, 1]


async def test_a_fetch_is_held_from_its_question_to_its_answer(
    engine: Engine, clock: HandClock
) -> None:
    waiting = WaitingCalls[FetchedJobs](engine)
    await engine.run(Beat("w", WorkerState.RUNNING, False, ()))
    task = await waiting.begin(fetch(engine, Claim(("q",), 1, "w"), 60_000), looks=1)
    try:
        assert engine.signs.take() == [({"w": clock.now}, frozenset("w"))]
        clock.advance(1_000)
        await engine.run(enqueue())
        async with asyncio.timeout(LIMIT_S):
            await task
        assert engine.signs.take() == [({"w": clock.now}, frozenset())]
    finally:
        await waiting.end()


async def test_a_worker_whose_fetch_is_held_for_longer_than_the_dead_live_is_alive(
    engine: Engine, clock: HandClock
) -> None:
    for worker in ("held", "silent"):
        await engine.run(Beat(worker, WorkerState.RUNNING, False, ()))
    waiting = WaitingCalls[FetchedJobs](engine)
    task = await waiting.begin(fetch(engine, Claim(("q",), 1, "held"), 60_000), looks=1)
    dead = 0
    try:
        for _ in range(20):
            clock.advance(EVERY_MS)
            for step in engine.signs.take():
                await engine.run(SignsOfLife(*step))
            dead += (await engine.run(Sweep(reachable_since=0, requested_at=clock.now))).dead
        assert dead == 1
        await engine.run(enqueue())
        async with asyncio.timeout(LIMIT_S):
            (delivery,) = await task
        assert delivery.lease.worker_id == "held"
        (load,) = await engine.read(lambda reader: reader.workers(["held"]))
        assert (load.worker.incarnation, load.worker.gone_at) == (1, None)
    finally:
        await waiting.end()


async def test_a_quiet_worker_is_looked_at_again_when_its_wait_ends(
    engine: Engine, clock: HandClock
) -> None:
    await engine.run(enqueue())
    await engine.run(Beat("w", WorkerState.QUIET, False, ()))
    found = await fetch(engine, Claim(("q",), 1, "w"), 20)
    assert found.withheld is not None
    assert found.withheld.state is WorkerState.QUIET
    waiting = WaitingCalls[FetchedJobs](engine)
    task = await waiting.begin(fetch(engine, Claim(("q",), 1, "w"), 200), looks=1)
    await engine.run(Beat("w", WorkerState.RUNNING, False, ()))
    try:
        async with asyncio.timeout(LIMIT_S):
            assert len(await task) == 1
    finally:
        await waiting.end()
