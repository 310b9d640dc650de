"""Canary routing applied: the versions of new jobs, however they are created."""

import pytest

from ojs_server.domain.errors import Conflict, NotFound, ValidationError
from ojs_server.domain.jobs.version_routing import parse_routing
from ojs_server.domain.schemas.schema import registered
from ojs_server.ops.jobs import version_routing
from ojs_server.ops.jobs.version_routing import DropRouting, SaveRouting
from ojs_server.ops.schemas.registry import RegisterSchema
from ojs_wire.codec import decode
from tests.ops.bench import Bench, enqueue


def route(bench: Bench, job_type: str = "t", **weights: int) -> None:
    rules = [{"version": name[1:], "weight": weight} for name, weight in weights.items()]
    bench.do(SaveRouting(job_type, parse_routing({"rules": rules})))


def versions(bench: Bench, count: int) -> list[str | None]:
    done = bench.do(enqueue(jobs=[{}] * count))
    return [decode(stored.job.spec).get("version") for stored in done.jobs]


def test_new_jobs_get_versions_until_the_routing_ends(bench: Bench) -> None:
    assert versions(bench, 1) == [None]
    route(bench, v1=3, v2=1)
    assert sorted(map(str, versions(bench, 8))) == ["1"] * 6 + ["2"] * 2
    route(bench, v1=0, v2=1)
    assert versions(bench, 2) == ["2", "2"]
    bench.do(DropRouting("t"))
    assert versions(bench, 1) == [None]
    with pytest.raises(NotFound, match="there is no routing of t"):
        bench.do(DropRouting("t"))


def test_a_routed_job_is_held_to_the_schema_of_its_version(bench: Bench) -> None:
    given = {"type": "t", "schema": {"minItems": 1}, "version": 1, "mode": "strict"}
    bench.do(RegisterSchema(registered(given, 0)))
    route(bench, v2=1)
    assert versions(bench, 1) == ["2"]
    route(bench, v1=1)
    with pytest.raises(ValidationError):
        versions(bench, 1)


def test_only_so_many_types_are_routed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_routing, "MAX_ROUTINGS", 1)
    route(bench, v1=1)
    route(bench, v2=1)
    with pytest.raises(Conflict, match="no more are possible"):
        route(bench, "u", v1=1)
