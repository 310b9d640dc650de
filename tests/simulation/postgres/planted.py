"""Faults that duels must find, each of a kind that this project had or guards against."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any, Final
from unittest.mock import patch

import msgspec

from ojs_server.ops.cron import firing
from ojs_server.store.postgres import transaction
from ojs_server.store.postgres.statements import STATEMENTS, Statement, claim_of
from ojs_server.store.postgres.transaction import PostgresTx
from tests.simulation.postgres.arena import Arena
from tests.simulation.postgres.cuts import Cutter
from tests.simulation.postgres.pairs.all import PAIRS
from tests.simulation.postgres.verdict import Finding, Judge

LOCK: Final = "FOR UPDATE"
SKIPPING: Final = "FOR UPDATE SKIP LOCKED"
# Plays of a pair with a fault, at most.
MOST: Final = 700


class Fault(msgspec.Struct, frozen=True):
    """A mistake, and the pair that shows it."""

    name: str
    pair: str
    plant: Callable[[], AbstractContextManager[object]]
    # True if it shows only where a connection is lost.
    cut: bool = False


def changed(statement: Statement, old: str, new: str) -> Statement:
    """Return a statement with another text."""
    assert old in statement.sql, f"{statement.name} has no {old}"
    return msgspec.structs.replace(statement, sql=statement.sql.replace(old, new))


@contextmanager
def without(old: str, *names: str, new: str = "") -> Iterator[None]:
    """Leave something out of statements."""
    texts = {name: changed(STATEMENTS[name], old, new) for name in names}
    with patch.dict(STATEMENTS, texts):
        yield


@contextmanager
def instead(name: str, text: str) -> Iterator[None]:
    """Send another statement under a name."""
    with patch.dict(STATEMENTS, {name: msgspec.structs.replace(STATEMENTS[name], sql=text)}):
        yield


@contextmanager
def claims_without(old: str) -> Iterator[None]:
    """Leave something out of claims, whose statements are made for their limits."""

    def claim(limit: int, job_types: int | None = None) -> Statement:
        return changed(claim_of(limit, job_types), old, "")

    with patch.object(transaction, "claim_of", claim):
        yield


@contextmanager
def unordered_keys() -> Iterator[None]:
    """Lock unique keys in the order in which they are given."""

    def lock(tx: PostgresTx, keys: Sequence[bytes]) -> None:
        column = list(dict.fromkeys(keys))
        for name in ("lock_unique", "unlock_unique"):
            # One statement for each, or the database would sort them by itself.
            for key in column:
                tx.all_batch(name, [[key]])

    with patch.object(PostgresTx, "lock_unique", lock):
        yield


@contextmanager
def all_of(*plants: Callable[[], AbstractContextManager[Any]]) -> Iterator[None]:
    """Plant several mistakes together."""
    with ExitStack() as stack:
        for plant in plants:
            stack.enter_context(plant())
        yield


_GUARD: Final = " AND jobs.state = change.old_state AND jobs.attempt = change.old_attempt"

PLANTED: Final = (
    Fault(
        "unique keys are looked up without their lock",
        "unique and unique",
        partial(
            all_of,
            partial(instead, "lock_unique", "SELECT %(unique_key)s::bytea[]"),
            partial(instead, "unlock_unique", "SELECT %(unique_key)s::bytea[]"),
        ),
    ),
    Fault(
        "unique keys are locked in the order of the request",
        "unique keys in opposite orders",
        unordered_keys,
    ),
    Fault(
        "claims do not lock the jobs that they pick",
        "claim and claim",
        partial(claims_without, SKIPPING),
    ),
    Fault(
        "claims take what a later transaction has just stored",
        "claim and enqueue",
        partial(
            all_of,
            partial(claims_without, " AND (seq < %(upto)s::int8 OR seq >= 4611686018427387904)"),
            partial(
                without, "subject NOT IN (SELECT subject FROM later)", "insert_events", new="true"
            ),
        ),
    ),
    Fault(
        "events of a job are written by whoever began first",
        "cancel and claim",
        partial(without, "subject NOT IN (SELECT subject FROM later)", "insert_events", new="true"),
    ),
    Fault(
        "a due retry is promoted twice",
        "claims that promote one retry",
        partial(
            all_of,
            partial(without, SKIPPING, "load_due_in"),
            partial(without, _GUARD, "write_changes"),
        ),
    ),
    Fault(
        "due entries of cron are not locked",
        "fire and fire",
        partial(without, SKIPPING, "load_due_cron"),
    ),
    Fault(
        "the last jobs of due entries are locked one by one",
        "fire that cancels two jobs, and their ACKs",
        partial(patch.object, firing, "jobs_to_lock", lambda work, entries: set()),
    ),
    Fault(
        "a worker that was not there is stored over another",
        "registration and registration",
        partial(instead, "insert_workers", STATEMENTS["save_workers"].sql),
    ),
    Fault(
        "workflows are not locked",
        "the last steps of a group",
        partial(without, LOCK, "load_workflows"),
    ),
    Fault(
        "jobs are not locked before they are settled",
        "ACK and FAIL",
        partial(
            all_of,
            partial(without, LOCK, "load_jobs"),
            partial(without, _GUARD, "write_changes"),
        ),
    ),
    Fault(
        "limits are not locked",
        "change of a key's limit, and ACK",
        partial(without, LOCK, "load_limits"),
    ),
    Fault(
        "leases that have lapsed are not locked",
        "BEAT and a sweep after the lease",
        partial(
            all_of,
            partial(without, SKIPPING, "load_lapsed"),
            partial(without, "FOR UPDATE OF leases SKIP LOCKED", "load_lapsed"),
            partial(without, LOCK, "load_leases"),
        ),
    ),
    Fault(
        "the log is read beyond open transactions",
        "claim and enqueue",
        partial(instead, "log_end", STATEMENTS["log_head"].sql),
    ),
    Fault(
        "a COMMIT without an answer counts as undone",
        "ACK and FAIL",
        partial(
            instead,
            "ask_outcome",
            "SELECT false FROM (SELECT %(token)s::text, %(until)s::int8) AS given",
        ),
        cut=True,
    ),
    Fault(
        "a COMMIT without an answer counts as stored",
        "ACK and FAIL",
        partial(
            instead,
            "ask_outcome",
            "SELECT true FROM (SELECT %(token)s::text, %(until)s::int8) AS given",
        ),
        cut=True,
    ),
)


def found_by(arena: Arena, fault: Fault, most: int = MOST) -> tuple[Finding | None, int]:
    """Play the pair of a fault until it is found; answers the number of plays, too."""
    with fault.plant():
        judge = Judge(arena, PAIRS[fault.pair])
        if not fault.cut:
            for plays, schedule in enumerate(judge.schedules(), 1):
                judge.play(schedule)
                if judge.verdict.findings or plays == most:
                    break
            return next(iter(judge.verdict.findings), None), judge.verdict.plays
        cutter = Cutter(judge)
        # The last steps first: there is the COMMIT.
        for cut, schedule in reversed([*cutter.cuts()]):
            cutter.play(cut, schedule)
            if cutter.verdict.findings:
                break
        return next(iter(cutter.verdict.findings), None), cutter.verdict.plays
