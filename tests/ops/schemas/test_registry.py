"""Validation of jobs against schemas, in each mode."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ojs_server.domain.errors import Conflict, Duplicate, InvalidRequest, NotFound, ValidationError
from ojs_server.domain.schemas.schema import compatible_with, registered
from ojs_server.domain.version import Version
from ojs_server.ops.jobs.bulk_enqueue import BulkEnqueue, BulkEntry
from ojs_server.ops.jobs.enqueue import Enqueued
from ojs_server.ops.rules import Rules
from ojs_server.ops.schemas import registry as schemas
from ojs_server.ops.schemas.registry import RegisterSchema, RemoveSchema
from tests.ops.bench import Bench, enqueue

ONE_TEXT = {"type": "array", "minItems": 1, "items": {"type": "string"}}


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    """No test finds what another one has compiled."""
    schemas._compiled.clear()
    yield
    schemas._compiled.clear()


def put_schema(bench: Bench, version: object = 1, schema: Any = ONE_TEXT, **more: Any) -> None:
    given = {"type": "t", "version": version, "schema": schema, **more}
    bench.do(RegisterSchema(registered(given, 0), compatible_with(given)))


def told(bench: Bench, **given: Any) -> list[str]:
    """The paths that the answer to an enqueue complains of."""
    done: Enqueued = bench.do(enqueue(**given))
    return [one["path"] for complaint in done.complaints for one in complaint.violations]


def test_a_job_that_does_not_fit_is_stored_with_a_warning(bench: Bench) -> None:
    put_schema(bench)
    assert told(bench, args=["a"]) == []
    assert told(bench, args=[1]) == ["args[0]"]
    assert told(bench, type="u", args=[1]) == []
    assert bench.counts() == {"available": 3}


def test_a_strict_schema_refuses_all_of_a_request(bench: Bench) -> None:
    put_schema(bench, mode="strict")
    with pytest.raises(ValidationError, match=r"^jobs\[1\]: the arguments do not fit") as refused:
        bench.do(enqueue(jobs=[{"args": ["a"]}, {"args": []}], key="k"))
    assert refused.value.details is not None
    assert refused.value.details["index"] == 1
    assert [one["path"] for one in refused.value.details["validation_errors"]] == ["args"]
    # The key is free for the request that is put right.
    assert bench.do(enqueue(jobs=[{"args": ["a"]}], key="k")).created
    assert bench.counts() == {"available": 1}


def test_a_repeated_request_is_answered_whatever_was_registered_since(bench: Bench) -> None:
    bench.do(enqueue(args=[1], key="k"))
    put_schema(bench, mode="strict")
    assert not bench.do(enqueue(args=[1], key="k")).created


def test_the_servers_mode_counts_where_the_schema_has_none(
    with_rules: Callable[[Rules], Bench],
) -> None:
    bench = with_rules(Rules(schema_validation="strict"))
    put_schema(bench)
    with pytest.raises(ValidationError):
        bench.put(args=[])
    put_schema(bench, 2, mode="off")
    assert told(bench, args=[]) == []


def test_a_job_is_held_to_its_version_and_to_the_newest_without_one(bench: Bench) -> None:
    put_schema(bench, 1)
    put_schema(bench, 2, {"maxItems": 0})
    assert told(bench, args=[1], version="1.0") == ["args[0]"]
    assert told(bench, args=["a"]) == ["args"]
    assert told(bench, args=[1], version=3) == []
    bench.do(RemoveSchema("t", Version(2)))
    assert told(bench, args=["a"]) == []


def test_another_schema_under_an_old_version_counts_at_once(bench: Bench) -> None:
    put_schema(bench)
    assert told(bench, args=[1]) == ["args[0]"]
    bench.do(RemoveSchema("t", Version(1)))
    put_schema(bench, schema={"items": {"type": "integer"}})
    assert told(bench, args=[1]) == []
    assert told(bench, args=["a"]) == ["args[0]"]


def test_sealed_arguments_are_taken_as_they_are(bench: Bench) -> None:
    put_schema(bench, schema={"maxItems": 0}, mode="strict")
    assert told(bench, args=["b64"], meta={"ojs_encoded": True}) == []


def test_each_job_of_a_bulk_call_is_judged_by_itself(bench: Bench) -> None:
    put_schema(bench, mode="strict")
    put_schema(bench, 2)
    good, bad, warned = enqueue(
        jobs=[
            {"args": ["a"], "version": 1},
            {"args": [], "version": 1},
            {"args": [], "version": 2},
        ]
    ).drafts
    first, second, third = bench.do(BulkEnqueue((good, bad, warned))).items
    assert isinstance(first, BulkEntry)
    assert not first.complaints
    assert isinstance(second, ValidationError)
    assert isinstance(third, BulkEntry)
    assert len(third.complaints) == 1


def test_registrations_are_refused_where_they_would_change_or_be_too_many(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_schema(bench)
    with pytest.raises(Duplicate, match="has a schema, and a schema never changes"):
        put_schema(bench, "1.0.0", {})
    with pytest.raises(NotFound, match=r"there is no version 2.0.0 of t"):
        bench.do(RemoveSchema("t", Version(2)))
    monkeypatch.setattr(schemas, "MAX_SCHEMAS", 1)
    with pytest.raises(Conflict, match="no more are possible"):
        put_schema(bench, 2)


def test_a_version_is_compared_with_those_beside_it_and_those_it_names(bench: Bench) -> None:
    put_schema(bench, "1.0")
    put_schema(bench, "1.2", {"minItems": 1})
    put_schema(bench, "2.0", {"minItems": 3})
    for version, schema, more, pair in (
        ("1.1", {"minItems": 2}, {}, ("1.1.0", "1.0.0")),
        ("1.1", {}, {}, ("1.2.0", "1.1.0")),
        ("3", {"minItems": 2}, {"compatible_with": "1.2"}, ("3.0.0", "1.2.0")),
    ):
        with pytest.raises(ValidationError) as refused:
            put_schema(bench, version, schema, **more)
        details = refused.value.details
        assert details is not None
        assert (details["version"], details["compared_with"]) == pair
        assert [one.pointer for one in details["breaking_changes"]] == ["/minItems"]
    with pytest.raises(InvalidRequest, match=r"names version 1.1.0, which has no schema"):
        put_schema(bench, 3, compatible_with=[1, "1.1"])
    put_schema(bench, "3", {"minItems": 3}, compatible_with=["2"])


def test_few_schemas_stay_compiled(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "MAX_COMPILED", 2)
    for version in range(4):
        put_schema(bench, version, {"maxItems": version})
    for version in (0, 1, 2, 3, 0):
        assert told(bench, args=[0] * (version + 1), version=version) == ["args"]
    assert len(schemas._compiled) == 2
