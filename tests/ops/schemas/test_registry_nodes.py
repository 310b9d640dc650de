"""Schemas registered by two nodes at once: the second is compared with the first."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ojs_server.domain.errors import Duplicate, OjsError, ValidationError
from ojs_server.domain.schemas.schema import Schema, registered
from ojs_server.domain.version import Version
from ojs_server.ops.schemas.registry import RegisterSchema
from ojs_server.store.base import Store
from tests.ops.bench import Bench
from tests.store.postgres.server import blocked, wait_until

FIRST: dict[str, Any] = {"type": "array"}


def version(number: str, schema: dict[str, Any]) -> Schema:
    return registered({"type": "t", "version": number, "schema": schema}, 0)


@pytest.mark.parametrize(
    ("second", "refusal"),
    [
        (version("1.1", {"type": "object"}), ValidationError),
        (version("0.9", {"type": "array"}), None),
        (version("1.0", FIRST), Duplicate),
    ],
    ids=["breaks the first", "breaks nothing", "is the first"],
)
def test_a_version_is_compared_with_one_that_is_registered_meanwhile(
    nodes: tuple[Bench, Store],
    pool: ThreadPoolExecutor,
    postgres_store: str,
    second: Schema,
    refusal: type[OjsError] | None,
) -> None:
    bench, other = nodes
    with other.transaction() as tx:
        assert tx.insert_schema(version("1.0", FIRST))
        registering = pool.submit(bench.do, RegisterSchema(second))
        wait_until(lambda: blocked(postgres_store) == 1)
    if refusal is None:
        registering.result()
    else:
        with pytest.raises(refusal):
            registering.result()
    with other.reader() as reader:
        assert len(reader.schemas("t")) == (2 if refusal is None else 1)


def test_a_version_that_is_removed_meanwhile_is_compared_with_nothing(
    nodes: tuple[Bench, Store], pool: ThreadPoolExecutor, postgres_store: str
) -> None:
    bench, other = nodes
    bench.do(RegisterSchema(version("1.0", FIRST)))
    with other.transaction() as tx:
        assert tx.delete_schema("t", Version(1))
        registering = pool.submit(bench.do, RegisterSchema(version("1.1", {"type": "object"})))
        wait_until(lambda: blocked(postgres_store) == 1)
    assert registering.result().mark.version == Version(1, 1)
