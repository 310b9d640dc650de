"""Any two kinds of operations in one batch lock rows in the documented order."""

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any, Final

import pytest

from ojs_server.domain.admin.maintenance import MaintenanceOrder
from ojs_server.domain.cron.request import parse_changes as cron_changes
from ojs_server.domain.errors import InvalidRequest
from ojs_server.domain.fairness.pool import Pool
from ojs_server.domain.fairness.weighted_fair import Schedulers
from ojs_server.domain.jobs.progress import ProgressReport
from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_server.domain.jobs.validate import parse_draft
from ojs_server.domain.jobs.version_routing import parse_routing
from ojs_server.domain.limits.rate_limit import Policy
from ojs_server.domain.schemas.schema import registered
from ojs_server.domain.tenants.tenant import Tenant
from ojs_server.domain.version import Version
from ojs_server.domain.webhooks.delivery import Reply
from ojs_server.domain.webhooks.request import parse_changes as webhook_changes
from ojs_server.domain.webhooks.target import Reach
from ojs_server.domain.workers.kind import Kind
from ojs_server.domain.workers.worker import Directive, WorkerState
from ojs_server.ops.access.logins import LogIn, LogOut
from ojs_server.ops.admin.maintenance import Collect, Maintain, Reset
from ojs_server.ops.cron import entries as cron
from ojs_server.ops.engine import batch
from ojs_server.ops.engine.probe import Probe
from ojs_server.ops.fairness.pools import DropPool, SavePool
from ojs_server.ops.jobs.amend import Amend
from ojs_server.ops.jobs.begin import Begin
from ojs_server.ops.jobs.bulk import Bulk
from ojs_server.ops.jobs.bulk_enqueue import BulkEnqueue
from ojs_server.ops.jobs.checkpoint import Clear, Save
from ojs_server.ops.jobs.numeric_ids import Number
from ojs_server.ops.jobs.priority import Prioritize
from ojs_server.ops.jobs.progress import Advance
from ojs_server.ops.jobs.settle import (
    Ack,
    Activate,
    Cancel,
    CancelOnce,
    Fail,
    Remove,
    Rerun,
    Revive,
)
from ojs_server.ops.jobs.staged import EnqueueStaged, RefuseStaged
from ojs_server.ops.jobs.version_routing import DropRouting, SaveRouting
from ojs_server.ops.limits.reopening import Override, Reopen
from ojs_server.ops.operation import Operation
from ojs_server.ops.queues.control import Drop, Purge, SetPaused
from ojs_server.ops.queues.move_jobs import Move
from ojs_server.ops.rules import Rules
from ojs_server.ops.schemas.registry import RegisterSchema, RemoveSchema
from ojs_server.ops.sweep import Sweep
from ojs_server.ops.tenants.administration import DropTenant, SaveTenant
from ojs_server.ops.webhooks.deliveries import RecordAttempt, Spread, Take, look
from ojs_server.ops.webhooks.subscriptions import (
    AmendWebhook,
    Replay,
    RotateSecret,
    Subscribe,
    Unsubscribe,
)
from ojs_server.ops.workers import presence
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.heartbeat import Beat
from ojs_server.ops.workers.join import Join
from ojs_server.ops.workers.sessions import DropSession, OpenSession
from ojs_server.ops.workers.signs_of_life import SignsOfLife
from ojs_server.ops.workflows import operations as workflow
from ojs_server.store.open import open_store
from ojs_server.store.records import Staged
from ojs_server.systems.jobmanager.domain.provider import Provider
from ojs_server.systems.jobmanager.ops import (
    Ask,
    Provide,
    RecordAnswer,
    SendAgain,
    Withdraw,
)
from ojs_server.systems.zeebe.incidents import RaiseIncident
from ojs_server.systems.zeebe.variables import merging
from tests.ops.bench import Bench, HandClock, enqueue
from tests.ops.flows import Flows, group, request
from tests.ops.kinds import KINDS
from tests.ops.kinds import Kind as OperationKind
from tests.ops.limits.test_queue_limits import configure
from tests.ops.locks import Undone, Watched, out_of_order

MINUTE: Final = 60_000


class World:
    """One resource of each kind, with names of its own, for operations to work on."""

    def __init__(self, bench: Bench, name: str) -> None:
        do, self.now = bench.do, bench.clock.now
        self.name, self.queue, self.worker = name, f"q.{name}", f"w.{name}"
        do(configure(self.queue, concurrency=100, backpressure={"max_depth": 1000}))
        do(SaveTenant(f"tenant.{name}", Tenant()))
        do(SavePool(f"pool.{name}", Pool((f"pooled.{name}",))))
        do(SaveRouting(f"routed.{name}", parse_routing({"rules": [{"version": 1, "weight": 1}]})))
        self.schema = {"type": f"typed.{name}", "version": "1.0", "schema": {"type": "array"}}
        do(RegisterSchema(registered(self.schema, 0)))
        do(presence.Register(self.worker, {}))
        limited: dict[str, Any] = {
            "queue": self.queue,
            "rate_limit": {"key": f"k.{name}", "concurrency": 50},
            "retry": {"max_attempts": 1},
        }
        self.job = {"type": "t", "args": [], **limited}
        self.active, self.second, self.discarded = (bench.put(**limited) for _ in range(3))
        bench.take(self.worker, 3, queues=(self.queue,))
        bench.fail(self.discarded)
        self.available, self.moved, self.completed = (bench.put(**limited) for _ in range(3))
        bench.do(Cancel(self.completed))
        self.pending = bench.put(pending=True, **limited)
        # Entries are due in the opposite order of their jobs.
        template = {
            "name": name,
            "cron": "*/5 * * * *" if name == "a" else "* * * * *",
            "overlap_policy": "cancel_previous",
        }
        self.cron = cron_changes({**template, "type": "t", "options": {"queue": self.queue}})
        do(cron.RegisterEntry(name, self.cron))
        do(cron.Trigger(name))
        self.flow = Flows(bench).start(group(self.job, self.job))
        failing = {**self.job, "queue": f"failing.{name}"}
        self.failed = Flows(bench).start(group(failing))
        (self.step,) = bench.take_ids(self.worker, queues=(failing["queue"],))
        bench.fail(self.step)
        body = {"url": "https://example.com/x", "events": ["*"]}
        self.hook_changes = webhook_changes(body, Reach())
        self.hook = do(Subscribe(self.hook_changes, "secret-01", None))
        do(Advance(self.active, ProgressReport(0.1)))
        self.provider = Provider(
            f"provider-{name}", "r", "files", name, b"{}", "text/plain", self.worker, None, 0
        )
        do(Provide(self.provider, new=False))
        do(LogIn(f"hash.{name}", "local", MINUTE))
        self.staged = [f"0190a0f0-0000-7000-8000-00000000{name}{n:03}" for n in range(2)]
        with bench.store.transaction() as tx:
            tx.insert_staged([Staged(job_id, None, "{}", 0) for job_id in self.staged])
        with bench.store.reader() as reader:
            (hook,) = reader.webhooks([self.hook.id])
            do(Spread(look(reader, [hook], hook.cursor), "ojs://test"))
        (self.delivery, *_) = do(Take(((self.hook.id, 1),), MINUTE)).deliveries
        with bench.store.reader() as reader:
            (hook,) = reader.webhooks([self.hook.id])
            self.news = look(reader, [hook], hook.cursor)

    def operations(self) -> Iterator[Operation[Any]]:
        """One of every kind, at least, each of which comes to something."""
        active, worker, name = self.active, self.worker, self.name
        yield SetPaused(self.queue, True)
        yield configure(self.queue, concurrency=99)
        yield Maintain(MaintenanceOrder(True, "upgrade"))
        yield Collect()
        yield Reset()
        yield SaveTenant(f"tenant.{name}", Tenant(max_concurrency=5))
        yield DropTenant(f"tenant.{name}")
        yield SavePool(f"pool.{name}", Pool((f"pooled.{name}",), concurrency=3))
        yield DropPool(f"pool.{name}")
        yield Subscribe(self.hook_changes, "secret-01", None)
        yield AmendWebhook(self.hook.id, self.hook_changes)
        yield RotateSecret(self.hook.id, "secret-02")
        yield Unsubscribe(self.hook.id)
        yield Replay(self.delivery.id)
        yield SaveRouting(f"routed.{name}", parse_routing({"rules": [{"version": 2, "weight": 1}]}))
        yield DropRouting(f"routed.{name}")
        yield RegisterSchema(registered({**self.schema, "version": "1.1"}, 0))
        yield RemoveSchema(f"typed.{name}", Version(1))
        yield Spread(self.news, "ojs://test")
        yield Take(((self.hook.id, 1),), MINUTE)
        yield RecordAttempt(self.delivery, Reply(200, None, 3))
        yield cron.RegisterEntry(name, self.cron)
        yield cron.AmendEntry(name, self.cron)
        yield cron.Forget(name)
        yield cron.Trigger(name)
        yield cron.Fire()
        yield enqueue(**{**self.job, "unique": {"keys": ["type"]}})
        body = {**self.job, "id": self.staged[0], "unique": {"keys": ["type"]}}
        yield EnqueueStaged((parse_draft(body),), staged_id=self.staged[0])
        yield RefuseStaged(staged_id=self.staged[1], error=InvalidRequest("no"))
        yield BulkEnqueue(tuple(enqueue(**self.job).drafts))
        yield request(group(self.job, self.job))
        yield Ack(active, worker)
        yield Fail(active, parse_fault("boom"), worker)
        yield RaiseIncident(active, parse_fault("boom"))
        yield Cancel(active)
        yield CancelOnce(active)
        yield Activate(self.pending)
        yield Revive(self.discarded)
        yield Rerun(self.discarded)
        yield Remove(self.completed)
        yield Ack(active, worker, 1)
        yield Fail(active, parse_fault("boom"), worker, 1)
        yield Begin(active, worker)
        yield Save(active, b"{}")
        yield Clear(active)
        yield Advance(active, ProgressReport(0.5))
        yield Prioritize(self.available, 7)
        yield Amend(active, retries=5, change=merging({"a": 1}), lease_ms=60_000)
        yield Number(active)
        yield Purge((self.available, self.second), self.queue, ("available", "active"), cancel=True)
        yield Drop(self.queue)
        yield Move((self.moved, self.second), self.queue, f"other.{name}")
        yield Bulk("cancel", (self.available, self.second))
        yield presence.Register(worker, {})
        yield presence.Deregister(worker)
        yield presence.Direct(Directive.QUIET)
        yield presence.Direct(Directive.QUIET, worker)
        yield presence.Delete(worker)
        yield presence.Describe(worker, (Kind(f"room.{name}", "k", "t"),))
        yield presence.Cleanup(now=True)
        yield Join(worker, Kind(f"room.{name}", "k", "t"), new=False)
        yield Provide(self.provider, new=False)
        yield Ask(self.provider.id, b"{}")
        yield SendAgain(self.provider.id)
        yield RecordAnswer(self.provider.id, "hash", b"content")
        yield Withdraw(self.provider.id)
        yield LogIn(f"new.{name}", "local", MINUTE)
        yield LogOut(f"hash.{name}")
        yield OpenSession(worker)
        yield DropSession(worker, 0)
        yield Beat(worker, WorkerState.RUNNING, False, (active, self.second))
        yield SignsOfLife({worker: self.now + 10 * MINUTE})
        yield Sweep(0, self.now + 10 * MINUTE)
        yield Sweep(0, self.now + 60 * MINUTE, prune=True, check=True)
        yield Claim((self.queue,), 3, worker)
        yield workflow.CancelWorkflow(self.flow)
        yield workflow.Retry(self.failed, frozenset({self.step}))
        yield Reopen()
        yield Override(f"k.{name}", Policy(concurrency=1))
        yield Probe()


def kind_of(op: Operation[Any]) -> str:
    """The name of an operation's kind, with its module where two share it."""
    return f"{type(op).__module__.rpartition('.')[2]}.{type(op).__name__}"


@pytest.fixture
def worlds(distribution_store: str, clock: HandClock) -> tuple[Bench, World, World]:
    """Two of everything; the rows of the first come before those of the second."""
    with closing(open_store(distribution_store, clock=clock)) as store:
        bench = Bench(store, clock)
        worlds = bench, World(bench, "a"), World(bench, "b")
        # By now entries of cron are due and workers are silent, but leases still run.
        clock.advance(10 * MINUTE)
        return worlds


def complaints(bench: Bench, store: Watched, *ops: Operation[Any]) -> list[str]:
    """Carry out a batch, and tell of each lock that is out of order."""
    with suppress(Undone):
        batch.begin(store, Rules(), bench.rng, ops, Schedulers()).commit()
    batch_of = " + ".join(map(kind_of, ops))
    return [f"{batch_of}: {found}" for found in out_of_order(store.steps)]


def test_every_kind_is_among_the_operations(worlds: tuple[Bench, World, World]) -> None:
    assert set(KINDS) <= set(map(type, worlds[1].operations()))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_operations_of_any_two_kinds_lock_rows_in_one_order(
    worlds: tuple[Bench, World, World],
    kind: OperationKind,
    distribution_store: str,
    clock: HandClock,
) -> None:
    bench, first, second = worlds
    found: list[str] = []
    with closing(Watched(distribution_store, clock=clock)) as store:
        for op in (op for op in first.operations() if type(op) is kind):
            found += complaints(bench, store, op)
            for beside in second.operations():
                found += complaints(bench, store, op, beside)
    assert found == []
