"""Operations that need rows locked by another server are postponed; all others go on."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from ojs_server.domain.tenants.tenant import Tenant
from ojs_server.ops.engine import contention as contentions
from ojs_server.ops.engine import group_commit
from ojs_server.ops.engine.batch import LocksBusy
from ojs_server.ops.engine.contention import SUSPECTS_S, Contention
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.jobs.settle import Ack
from ojs_server.ops.rules import Rules
from ojs_server.ops.tenants.administration import SaveTenant
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.settle_and_fetch import SettleAndFetch
from ojs_server.store.base import Store
from ojs_server.store.open import open_store
from tests.ops.bench import Bench, HandClock, enqueue, environment
from tests.ops.engine.test_batch import names
from tests.ops.limits.test_queue_limits import configure

BOTH_VERSIONS = pytest.mark.parametrize("store_url", ["postgres", "distribution"], indirect=True)
pytestmark = BOTH_VERSIONS
LIMITED: dict[str, Any] = {"queue": "limited"}
KEYED: dict[str, Any] = {"rate_limit": {"key": "k", "concurrency": 5}}


class Hands:
    """A stopwatch that stands still."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every transaction but one's own is an old one."""
    monkeypatch.setattr(contentions, "OLD_MS", 0)


@pytest.fixture
def frozen(store_url: str, clock: HandClock) -> Iterator[Bench]:
    """Another server, which stops wherever the test wants."""
    with closing(open_store(store_url, clock=clock, node="frozen")) as store:
        yield Bench(store, clock)


@pytest.fixture
def carry_out(store: Store, bench: Bench) -> Callable[..., list[str]]:
    """Carries a batch out beside the other server; answers the kinds of outcomes."""
    contention = Contention(store, Rules(), environment(bench.rng, Hands()))
    return lambda *ops: names(contention.carry_out(ops).outcomes)


def test_only_who_wants_a_held_limit_is_put_off(
    bench: Bench, frozen: Bench, carry_out: Callable[..., list[str]]
) -> None:
    bench.do(configure("limited", concurrency=5, backpressure={"max_depth": 9}))
    bench.put(**LIMITED)
    keyed = bench.put(**KEYED)
    bench.take("w")
    ops = [
        enqueue(**LIMITED),
        enqueue(),
        Claim(("limited",), 1, "other"),
        Claim(("q",), 1, "other"),
        Ack(keyed, "w"),
        enqueue(**KEYED),
        SettleAndFetch((Ack(keyed, "w", 1),), Claim(("q",), 1, "third")),
    ]
    with frozen.store.transaction() as tx:
        assert len(tx.load_limits(["#queue:limited", "k"])) == 2
        told = [
            "LocksBusy",
            "Enqueued",
            "LocksBusy",
            "FetchedJobs",
            "LocksBusy",
            "LocksBusy",
            "LocksBusy",
        ]
        assert carry_out(*ops) == told
        # No wait the second time: the blocking transactions are known.
        assert carry_out(*ops) == told
    assert carry_out(*ops[:3]) == ["Enqueued", "Enqueued", "FetchedJobs"]


def test_only_who_wants_a_held_job_or_worker_is_put_off(
    bench: Bench, frozen: Bench, carry_out: Callable[..., list[str]]
) -> None:
    first, second = bench.put(), bench.put()
    bench.take("w", 2)
    bench.take("other")
    with frozen.store.transaction() as tx:
        tx.load_workers(["other"])
        tx.load_jobs([first])
        ops = [Ack(first, "w"), Ack(second, "w"), Claim(("q",), 1, "other"), enqueue()]
        assert carry_out(*ops) == ["LocksBusy", "Change", "LocksBusy", "Enqueued"]
    assert carry_out(Ack(first, "w")) == ["Change"]


def test_a_claim_for_all_tenants_meets_the_limits_of_any(
    bench: Bench, frozen: Bench, carry_out: Callable[..., list[str]]
) -> None:
    bench.do(SaveTenant("acme", Tenant(max_concurrency=1)))
    bench.put(meta={"tenant_id": "acme"})
    bench.take_ids(tenant="acme")
    ops = [
        Claim(("q",), 1, "w"),
        Claim(("q",), 1, "w", tenant="acme"),
        Claim(("q",), 1, "w", tenant="other"),
        enqueue(meta={"tenant_id": "other"}),
    ]
    with frozen.store.transaction() as tx:
        assert len(tx.load_limits(["#tenant:acme"])) == 1
        assert carry_out(*ops) == ["LocksBusy", "LocksBusy", "FetchedJobs", "Enqueued"]


def test_what_nobody_can_see_is_found_by_trying(
    bench: Bench, frozen: Bench, carry_out: Callable[..., list[str]]
) -> None:
    """A fingerprint that another server is about to store is in no row yet."""
    unique: dict[str, Any] = {"unique": {"keys": ["type"]}}
    with frozen.store.transaction() as tx:
        (draft,) = enqueue(**unique).drafts
        assert draft.unique is not None
        tx.lock_unique([draft.unique.key])
        assert tx.load_states(["none"]) == {}
        assert carry_out(enqueue(), enqueue(**unique), enqueue()) == [
            "Enqueued",
            "LocksBusy",
            "Enqueued",
        ]
        assert carry_out(enqueue(**unique)) == ["LocksBusy"]
    assert carry_out(enqueue(**unique)) == ["Enqueued"]


def test_a_young_transaction_is_waited_for(
    store: Store, frozen: Bench, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contentions, "OLD_MS", 3_600_000)
    hands = Hands()
    contention = Contention(store, Rules(), environment(bench.rng, hands))
    job_id = bench.put()
    bench.take("w")
    with frozen.store.transaction() as tx:
        tx.load_jobs([job_id])
        assert names(contention.carry_out([Ack(job_id, "w"), enqueue()]).outcomes) == [
            "LocksBusy",
            "Enqueued",
        ]
    hands.now += SUSPECTS_S
    assert names(contention.carry_out([Ack(job_id, "w")]).outcomes) == ["Change"]


async def test_who_is_put_off_is_answered_when_the_other_is_done(
    store: Store, frozen: Bench, bench: Bench
) -> None:
    job_id = bench.put()
    bench.take("w")
    engine = Engine(store, Rules(), environment(bench.rng))
    with ExitStack() as open_:
        tx = open_.enter_context(frozen.store.transaction())
        tx.load_jobs([job_id])
        waiting = asyncio.create_task(engine.run(Ack(job_id, "w")))
        for _ in range(3):
            assert len((await engine.run(enqueue())).jobs) == 1
        assert not waiting.done()
    assert (await waiting).after.state == "completed"
    await engine.close()


async def test_nobody_is_put_off_for_ever(
    store: Store, frozen: Bench, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "HELD_UP_S", 0.3)
    job_id = bench.put()
    bench.take("w")
    engine = Engine(store, Rules(), environment(bench.rng))
    with frozen.store.transaction() as tx:
        tx.load_jobs([job_id])
        with pytest.raises(LocksBusy) as refused:
            await engine.run(Ack(job_id, "w"))
        code = refused.value.answer_code
        assert (code.status, refused.value.headers) == (503, {"Retry-After": "1"})
        # A server that is stopping waits for no lock.
        monkeypatch.setattr(group_commit, "HELD_UP_S", 3600.0)
        waiting = asyncio.create_task(engine.run(Ack(job_id, "w")))
        # It has been tried by the time that a later one is done.
        await engine.run(enqueue())
        await engine.run(enqueue())
        await engine.close()
        with pytest.raises(LocksBusy):
            await waiting
