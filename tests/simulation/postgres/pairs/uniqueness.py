"""Jobs and calls that must exist once."""

from typing import Any

from ojs_server.ops.jobs.settle import Ack, Fail
from tests.ops.bench import Bench, enqueue
from tests.simulation.postgres.pair import Pair
from tests.simulation.postgres.pairs.claims import REST, claim
from tests.simulation.postgres.pairs.settling import BOOM

UNIQUE: dict[str, Any] = {"unique": {"keys": ["type"]}}
REPLACE: dict[str, Any] = {"unique": {"keys": ["type"], "on_conflict": "replace"}}
IGNORE: dict[str, Any] = {"unique": {"keys": ["type"], "on_conflict": "ignore"}}
ID = "0190a0f0-0000-7000-8000-00000000000a"


def _nothing(bench: Bench) -> None:
    """Nothing at all."""


def _active(bench: Bench) -> str:
    job = bench.put(**UNIQUE)
    bench.take("w")
    return job


def _available(bench: Bench) -> str:
    return bench.put(**UNIQUE)


PAIRS = (
    Pair(
        "unique and unique",
        _nothing,
        lambda known: (enqueue(**UNIQUE),),
        afterwards=REST,
    ),
    Pair(
        "unique keys in opposite orders",
        _nothing,
        lambda known: (enqueue(type="x", **IGNORE), enqueue(type="y", **IGNORE)),
        lambda known: (enqueue(type="y", **IGNORE), enqueue(type="x", **IGNORE)),
        afterwards=REST,
    ),
    Pair(
        "unique while the earlier one completes",
        _active,
        lambda job: (enqueue(**UNIQUE),),
        lambda job: (Ack(job, "w", 1),),
        afterwards=REST,
    ),
    Pair(
        "unique while the earlier one fails",
        _active,
        lambda job: (enqueue(**IGNORE),),
        lambda job: (Fail(job, BOOM, "w", 1),),
        afterwards=REST,
    ),
    Pair(
        "replacement and ACK",
        _active,
        lambda job: (enqueue(**REPLACE),),
        lambda job: (Ack(job, "w", 1),),
        afterwards=REST,
    ),
    Pair(
        "replacement and claim",
        _available,
        lambda job: (enqueue(**REPLACE),),
        lambda job: claim("wb"),
        afterwards=REST,
        passes=(1,),
    ),
    Pair(
        "replacement and replacement",
        _available,
        lambda job: (enqueue(**REPLACE),),
        afterwards=REST,
    ),
    Pair(
        "one call twice",
        _nothing,
        lambda known: (enqueue(key="once"),),
        afterwards=REST,
    ),
    Pair(
        "one id twice",
        _nothing,
        lambda known: (enqueue(id=ID),),
        afterwards=REST,
    ),
)
