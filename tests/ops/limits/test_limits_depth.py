"""A hundred thousand jobs that wait for a rate limit do not slow the claims of other jobs down."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.ops.bench import Bench
from tests.ops.statements import ways
from tests.store.records import a_job

MANY = 100_000
ONE: dict[str, Any] = {"rate_limit": {"key": "k", "concurrency": 1}}


@pytest.fixture
def statements(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The statements of transactions from here on, and how many rows each answered or touched."""
    with bench.store.transaction() as tx:
        kind = type(tx)
    named: list[tuple[str, int]] = []

    def noted(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(tx: object, name: str, /, *rows: Any, **bound: Any) -> Any:
            answer = call(tx, name, *rows, **bound)
            named.append((name, answer if isinstance(answer, int) else len(answer or ())))
            return answer

        return called

    for name in ways(kind):
        monkeypatch.setattr(kind, name, noted(getattr(kind, name)))
    return named


def block(bench: Bench, first: int, count: int) -> None:
    """Store this many jobs that wait for key `k`, before everything else in the queue."""
    with bench.store.transaction() as tx:
        for start in range(first, first + count, 5000):
            tx.insert_jobs(
                [
                    a_job(
                        f"blocked-{n:06}",
                        queue="q",
                        type="t",
                        priority=50,
                        seq=n,
                        spec=b'{"rate_limit":{"key":"k","concurrency":1}}',
                        rate_key="k",
                        on_limit="wait",
                    )
                    for n in range(start, min(start + 5000, first + count))
                ]
            )


def a_round(bench: Bench, statements: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Another job passes, a slot is freed, and the next blocked one gets it."""
    statements.clear()
    free = bench.put()
    assert bench.take_ids() == [free]
    bench.ack(free)
    (held,) = [one.job_id for one in held_jobs(bench)]
    bench.ack(held)
    assert len(bench.take(count=5)) == 1
    assert bench.take() == []
    return list(statements)


def held_jobs(bench: Bench) -> list[Any]:
    """The leases that worker `w` holds."""
    with bench.store.transaction() as tx:
        return [lease for _, lease in tx.load_held(["w"])]


def test_blocked_jobs_cost_the_claim_of_others_nothing(
    bench: Bench, statements: list[tuple[str, int]]
) -> None:
    bench.put(**ONE)
    bench.take()
    block(bench, 0, 10)
    # The first round brings the first blocked jobs before their gate.
    a_round(bench, statements)
    few = a_round(bench, statements)
    block(bench, 10, MANY)
    many = a_round(bench, statements)
    assert many == few
    assert len(many) < 80


def test_many_jobs_that_come_before_the_first_fetch_are_not_looked_at_either(
    bench: Bench, statements: list[tuple[str, int]]
) -> None:
    first = bench.put(**ONE)
    for _ in range(20):
        bench.put(**ONE)
    assert bench.take_ids() == [first]
    free = bench.put(priority=-100)
    statements.clear()
    assert bench.take_ids() == [free]
    assert max(rows for _, rows in statements) <= 1
