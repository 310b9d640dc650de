"""FETCH by declared abilities: versions of jobs, and runtime tags."""

from typing import Any

import pytest

from ojs_server.domain.jobs.dead_letter import RetryChanges
from ojs_server.domain.workers.requirements import RUNTIME
from ojs_server.ops.fairness import requirements
from ojs_server.ops.jobs.settle import Revive
from ojs_server.ops.workers.claim import Claim
from ojs_server.ops.workers.presence import Register
from ojs_server.store.tables import demands
from tests.ops.bench import Bench


def handlers(*said: tuple[str, str]) -> dict[str, object]:
    return {"handlers": [{"type": kind, "versions": versions} for kind, versions in said]}


def tagged(*tags: str) -> dict[str, Any]:
    return {"meta": {RUNTIME: {"tags": list(tags)}}}


def test_a_worker_is_given_the_versions_that_its_handlers_take(bench: Bench) -> None:
    bench.do(Register("w", handlers(("t", ">=1.0 <3.0"))))
    plain, third = bench.put(), bench.put(version=3)
    second, other = bench.put(version="2.5"), bench.put(type="u", version=2)
    late = bench.put(priority=1)
    assert bench.take_ids("w", 9) == [late, plain, second]
    assert [bench.state(job) for job in (third, other)] == ["available"] * 2
    assert bench.take_ids("says-nothing", 9) == [third, other]


def test_what_a_worker_says_later_counts(bench: Bench) -> None:
    bench.do(Register("w", handlers(("t", "1"))))
    job_id = bench.put(version=2)
    assert bench.take_ids("w") == []
    bench.beat("w", profile=handlers(("t", "2.0")))
    assert bench.take_ids("w") == [job_id]


def test_every_tag_of_a_job_must_be_there(bench: Bench) -> None:
    gpu, both, plain = bench.put(**tagged("gpu")), bench.put(**tagged("gpu", "net")), bench.put()
    assert bench.take_ids("w", 9, tags=()) == [plain]
    assert bench.take_ids("w", 9, tags=("gpu",)) == [gpu]
    assert bench.take_ids("w", 9) == [both]


def test_types_and_claims_of_others_are_kept_apart(bench: Bench) -> None:
    bench.do(Register("w", handlers(("t", "1"), ("u", "*"))))
    ids = [bench.put(version=1), bench.put(type="u", version=7), bench.put(version=2)]
    answers = bench.commit(
        Claim(("q",), 9, "w", job_types=("u",)), Claim(("q",), 1, "w"), Claim(("q",), 9)
    ).outcomes
    assert [[one.claimed.job.id for one in answer] for answer in answers] == [
        [ids[1]],
        [ids[0]],
        [ids[2]],
    ]


def test_a_claim_looks_a_bounded_way_past_what_it_may_not_take(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demands, "LOOK_AHEAD", 3)
    bench.do(Register("w", handlers(("t", "1"))))
    for _ in range(3):
        bench.put(version=2)
    bench.put()
    met = bench.put(version=1)
    # The job without requirements is too far back in the queue; the other is found by an index.
    assert bench.take_ids("w", 9) == [met]


def test_with_too_many_demands_to_tell_apart_none_is_passed_by_mistake(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "MAX_DEMANDS", 1)
    bench.do(Register("w", handlers(("t", "1"))))
    known = bench.put(version=1)
    assert bench.take_ids("w", 9) == [known]


def test_a_retry_with_another_meta_asks_for_something_else(bench: Bench) -> None:
    job_id = bench.put(**tagged("gpu"), retry={"max_attempts": 1})
    bench.take("w")
    bench.fail(job_id, worker_id="w")
    bench.do(Revive(job_id, override=RetryChanges(meta=tagged("net")["meta"])))
    assert bench.take_ids("w", tags=("gpu",)) == []
    assert bench.take_ids("w", tags=("net",)) == [job_id]


def test_tenants_jobs_are_kept_from_who_may_not_run_them(bench: Bench) -> None:
    bench.do(Register("w", handlers(("t", "1"))))

    def of(tenant: str, **more: Any) -> str:
        return bench.put(meta={"tenant_id": tenant}, **more)

    unmet = [of("a", version=2) for _ in range(3)]
    mine, other = of("a", version=1), of("b")
    assert bench.take_ids("w", 9, tenant="a") == [mine]
    assert bench.take_ids("w", 9) == [other]
    assert bench.take_ids("says-nothing", 9) == unmet
