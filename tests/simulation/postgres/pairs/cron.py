"""Entries of cron that two nodes fire or change."""

import re
from typing import Any, Final

from ojs_server.domain.cron.request import parse_changes
from ojs_server.ops.cron.entries import AmendEntry, Fire, Forget, RegisterEntry, Trigger
from ojs_server.ops.jobs.settle import Ack
from tests.ops.bench import Bench
from tests.simulation.postgres.outcome import Outcome
from tests.simulation.postgres.pair import Pair
from tests.simulation.postgres.pairs.claims import REST

MINUTE = 60_000
_FIRED: Final = re.compile(r"Fired\(now=\d+, entries=(\d)\)")


def _register(bench: Bench, name: str, **given: Any) -> None:
    body = {"name": name, "expression": "* * * * *", "type": "t", "queue": "q", **given}
    bench.do(RegisterEntry(name, parse_changes(body)))


def two_entries(bench: Bench) -> None:
    """Two entries that are due one after the other: of equal ones either may come first."""
    _register(bench, "one")
    _register(bench, "two", expression="*/5 * * * *", queue="r")


def _running(bench: Bench) -> str:
    """An entry whose last job still runs."""
    _register(bench, "one", overlap_policy="cancel_previous")
    bench.do(Trigger("one"))
    (job,) = bench.take_ids("w")
    return job


def _two_running(bench: Bench) -> list[str]:
    """Two entries with a job each; they are due in the opposite order of their jobs."""
    for name, expression in (("one", "*/5 * * * *"), ("two", "* * * * *")):
        _register(bench, name, expression=expression, overlap_policy="cancel_previous")
        bench.do(Trigger(name))
    return bench.take_ids("w", 2)


def _skipping(bench: Bench) -> str:
    _register(bench, "one", overlap_policy="skip")
    bench.do(Trigger("one"))
    (job,) = bench.take_ids("w")
    return job


def _fired_later(known: None, outcome: Outcome) -> list[str]:
    """An entry that is being triggered is passed over, and fired in the next round."""
    (after,) = (row for row in outcome.rows if row.startswith("after: "))
    fired = [int(found) for text in (outcome.results[0], after) for found in _FIRED.findall(text)]
    return [] if fired == [1, 1] else [f"entries fired, and fired after that: {fired}"]


PAIRS = (
    Pair(
        "fire and fire",
        two_entries,
        lambda known: (Fire(),),
        later_ms=10 * MINUTE,
        afterwards=REST,
    ),
    Pair(
        "fire and trigger",
        two_entries,
        lambda known: (Fire(),),
        lambda known: (Trigger("two"),),
        later_ms=10 * MINUTE,
        afterwards=(Fire(),),
        third=_fired_later,
    ),
    Pair(
        "fire and change",
        two_entries,
        lambda known: (Fire(),),
        lambda known: (AmendEntry("one", parse_changes({"enabled": False})),),
        later_ms=10 * MINUTE,
        afterwards=REST,
    ),
    Pair(
        "fire and removal",
        two_entries,
        lambda known: (Fire(),),
        lambda known: (Forget("two"),),
        later_ms=10 * MINUTE,
        afterwards=REST,
    ),
    Pair(
        "fire that cancels the last job, and its ACK",
        _running,
        lambda job: (Fire(),),
        lambda job: (Ack(job, "w", 1),),
        later_ms=MINUTE,
        afterwards=REST,
    ),
    Pair(
        "fire that cancels two jobs, and their ACKs",
        _two_running,
        lambda jobs: (Fire(),),
        lambda jobs: tuple(Ack(job, "w", 1) for job in jobs),
        later_ms=10 * MINUTE,
        afterwards=REST,
    ),
    Pair(
        "fire that passes over, and the ACK that frees",
        _skipping,
        lambda job: (Fire(),),
        lambda job: (Ack(job, "w", 1),),
        later_ms=MINUTE,
        afterwards=REST,
    ),
)
