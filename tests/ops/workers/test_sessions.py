"""Sessions of workers: the effects of opening and of losing one."""

import msgspec
import pytest

from ojs_server.domain.errors import NotFound
from ojs_server.domain.profile import OJS
from ojs_server.ops.rules import Rules
from ojs_server.ops.workers.presence import Deregister, Register
from ojs_server.ops.workers.sessions import DropSession, OpenSession
from tests.ops.bench import Bench

GRACE_MS = 5_000


@pytest.fixture
def held(bench: Bench) -> Bench:
    """A worker that holds its first session, and a job."""
    bench.rules = Rules(profile=msgspec.structs.replace(OJS, session_grace_ms=GRACE_MS))
    bench.do(Register("w", {}))
    bench.put()
    bench.take()
    assert bench.do(OpenSession("w")).session == 1
    bench.clock.advance(1000)
    return bench


def test_a_session_that_stays_away_is_a_death(held: Bench) -> None:
    dropped = held.commit(DropSession("w", 1))
    assert dropped.due_at == held.clock.now + GRACE_MS
    held.clock.advance(GRACE_MS - 1)
    assert held.sweep().dead == 0
    held.clock.advance(1)
    assert held.sweep().dead == 1
    worker = held.worker()
    assert (worker.state, worker.gone_at) == ("terminated", held.clock.now)
    (job_id,) = held.take_ids("x")
    error = held.error(job_id)
    assert (error["type"], error["message"]) == (
        "worker_death",
        "the worker holding the job dropped its session and did not come back",
    )
    assert held.sweep().dead == 0


def test_a_session_opened_since_counts_wherever_the_old_one_ends(held: Bench) -> None:
    assert held.do(OpenSession("w")).session == 2
    held.do(DropSession("w", 1))
    held.clock.advance(GRACE_MS)
    assert held.sweep().dead == 0
    held.do(DropSession("w", 2))
    assert held.do(OpenSession("w")).session == 3
    held.clock.advance(GRACE_MS)
    assert held.sweep().dead == 0


@pytest.mark.parametrize("sign", ["beat", "register", "fetch"])
def test_a_sign_of_life_since_counts_more(held: Bench, sign: str) -> None:
    held.do(DropSession("w", 1))
    held.clock.advance(1)
    if sign == "beat":
        held.beat()
    elif sign == "fetch":
        held.take("w", queues=("none",))
    else:
        held.do(Register("w", {}))
    held.clock.advance(GRACE_MS)
    assert held.sweep().dead == 0
    # From there on it is judged by its silence alone.
    held.clock.advance(30_000 - GRACE_MS)
    assert held.sweep().dead == 1


def test_a_server_that_was_away_gives_it_time_to_come_back(held: Bench) -> None:
    held.do(DropSession("w", 1))
    held.clock.advance(GRACE_MS)
    assert held.sweep(reachable_since=held.clock.now - GRACE_MS + 1).dead == 0
    held.clock.advance(1)
    assert held.sweep(reachable_since=held.clock.now - GRACE_MS).dead == 1


def test_without_a_grace_nothing_follows(held: Bench) -> None:
    held.rules = Rules()
    assert held.commit(DropSession("w", 1)).due_at is None
    held.clock.advance(29_000 - 1000)
    held.beat()
    held.clock.advance(29_000)
    assert held.sweep().dead == 0


@pytest.mark.parametrize("op", [OpenSession("w"), DropSession("w", 1)])
def test_who_is_not_there_has_no_session(held: Bench, op: OpenSession | DropSession) -> None:
    held.do(Deregister("w"))
    with pytest.raises(NotFound):
        held.do(op)
    with pytest.raises(NotFound):
        held.do(msgspec.structs.replace(op, worker_id="nobody"))


def test_a_worker_that_only_fetches_is_never_dead(held: Bench) -> None:
    held.put()
    held.take("x")
    held.do(OpenSession("x"))
    held.do(DropSession("x", 1))
    held.clock.advance(GRACE_MS)
    assert held.sweep().dead == 0
