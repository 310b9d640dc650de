"""Fair claims: their cost for others, races between nodes, and limits in mixed batches."""

from collections import Counter
from typing import Any

import pytest

from ojs_server.domain.fairness.fair_choice import Candidate
from ojs_server.domain.fairness.pool import Pool
from ojs_server.domain.tenants.tenant import Tenant
from ojs_server.ops.fairness.pools import SavePool
from ojs_server.ops.tenants.administration import DropTenant, SaveTenant
from ojs_server.ops.workers.claim import Claim
from ojs_server.store.records import Lane
from ojs_server.store.tables.statements import Statements
from tests.ops.bench import Bench, enqueue
from tests.ops.statements import ways


def of(tenant: str) -> dict[str, Any]:
    return {"meta": {"tenant_id": tenant}}


def made(bench: Bench, monkeypatch: pytest.MonkeyPatch, *ops: Any) -> Counter[str]:
    """The statements that a transaction runs by name, the plain claim apart."""
    names: Counter[str] = Counter()

    def watch(method: str) -> None:
        kind = type(tx)
        run = getattr(kind, method)

        def counted(self: Statements, name: str, /, *given: Any, **bound: Any) -> Any:
            names[name] += 1
            return run(self, name, *given, **bound)

        monkeypatch.setattr(kind, method, counted)

    with bench.store.transaction() as tx:
        pass
    # On PostgreSQL those for rows run the others.
    for method in ways(type(tx)):
        watch(method)
    bench.commit(*ops)
    monkeypatch.undo()
    return names


def test_without_tenants_and_pools_nobody_asks_for_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = bench.put()
    names = made(bench, monkeypatch, enqueue(), Claim(("q",), 1, "w"))
    bench.ack(job_id, "w")
    about = ("tenant", "waiting", "chosen", "pool", "limits", "queue_loads", "config")
    assert [name for name in names if any(word in name for word in about)] == []
    names = made(bench, monkeypatch, enqueue(**of("a")), Claim(("q",), 1, "w", tenant="a"))
    assert {"waiting_of_tenant", "tenants_waiting"} & set(names)


def test_a_job_that_another_node_takes_first_is_passed_over(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [bench.put(**of("a")) for _ in range(3)]
    with bench.store.transaction() as tx:
        kind = type(tx)
    look = kind.waiting
    looks: list[int] = []

    def too_late(self: Any, lanes: list[Lane], limit: int) -> list[Candidate]:
        found: list[Candidate] = look(self, lanes, limit)
        looks.append(limit)
        if len(looks) == 1:
            # Between the look and the claim the first job goes to somebody else.
            self.claim_chosen(ids[:1])
        return found

    monkeypatch.setattr(kind, "waiting", too_late)
    assert bench.take_ids("w", 2, tenant="a") == ids[1:]
    # One was taken at once; the second look is for what is missing, past what was lost.
    assert looks == [2, 2]


def test_turns_are_kept_from_claim_to_claim_in_a_batch(bench: Bench) -> None:
    for tenant in "aaabbb":
        bench.put(**of(tenant))
    done = bench.commit(*(Claim(("q",), 2, f"w{n}") for n in range(3)))
    named = Counter(
        one.claimed.job.tenant for deliveries in done.outcomes[:1] for one in deliveries
    )
    assert named == {"a": 1, "b": 1}


def test_more_than_a_hundred_tenants_come_round(bench: Bench) -> None:
    tenants = [f"t{n:03}" for n in range(130)]
    bench.do(enqueue(jobs=[of(name) for name in tenants for _ in range(2)]))
    with bench.store.transaction() as tx:
        seen = tx.tenants_waiting({"q": ""}, 100)
    assert [name for _, name in seen] == tenants[:100]
    rota_kept = Claim(("q",), 100, "w")
    first = bench.commit(rota_kept, Claim(("q",), 100, "v", job_types=("t",)))
    taken = {one.claimed.job.tenant for outcome in first.outcomes for one in outcome}
    # The second claim of the same node begins where the first look ended.
    assert taken == set(tenants)


def test_limits_hold_for_what_one_batch_enqueues_and_claims(bench: Bench) -> None:
    bench.do(SaveTenant("a", Tenant(max_concurrency=2, max_queue_depth=3)))
    wishes = [enqueue(**of("a")) for _ in range(5)]
    done = bench.commit(*wishes, Claim(("q",), 9, "w"), Claim(("q",), 9, "v", tenant="a"))
    refused = [outcome for outcome in done.outcomes[:5] if isinstance(outcome, Exception)]
    assert len(refused) == 2
    assert sum(len(outcome) for outcome in done.outcomes[5:]) == 2
    bench.do(DropTenant("a"))
    assert len(bench.take("w", 9)) == 1


def test_a_rate_key_is_asked_for_what_is_shared_as_well(bench: Bench) -> None:
    limit = {"rate_limit": {"key": "k", "concurrency": 1}}
    bench.put(**of("a"), **limit)
    bench.put(**of("a"), **limit)
    plain = bench.put(**of("a"))
    assert len(bench.take("w", 9, tenant="a")) == 2
    assert bench.job(plain).state == "active"


def test_jobs_from_before_the_first_tenant_are_served(bench: Bench) -> None:
    old = [bench.put() for _ in range(2)]
    bench.put(**of("a"))
    assert set(old) <= set(bench.take_ids("w", 9))


def test_a_pool_is_left_where_it_was_when_it_goes(bench: Bench) -> None:
    bench.do(SavePool("p", Pool(("r",), isolated=True)))
    bench.put(queue="r")
    assert bench.take("w", queues=("r",)) == []
    bench.do(SavePool("p", Pool(("r",))))
    assert len(bench.take("w", queues=("r",))) == 1


def test_what_is_taken_back_is_not_counted_for_its_tenant(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put(**of("a"))
    with bench.store.transaction() as tx:
        kind = type(tx)
    taken = "01a1f0c0-0000-7000-8000-000000000001"
    insert = kind.insert_jobs
    bench.put(id=taken)
    # Another node stores the id after this one has looked.
    monkeypatch.setattr(kind, "load_requests", lambda self, ids: {})
    monkeypatch.setattr(
        kind,
        "insert_jobs",
        lambda self, jobs: insert(self, jobs) | ({taken} & {j.job.id for j in jobs}),
    )
    bench.commit(enqueue(jobs=[{"id": taken, "args": [1]}, {}]))
    monkeypatch.undo()
    with bench.store.reader() as reader:
        (own,) = reader.queues(["_default/"])
        (whole,) = reader.queues(["q"])
    assert (own.counts["available"], whole.counts["available"]) == (1, 2)
