"""Tests that each broken promise is found, and nothing else."""

from typing import Any

import pytest

from tests.chaos.accounting import Kept, Row, Wrong, judge
from tests.chaos.history import Act, Exchange, Fate, Handed, Strike, told

JOB = "j"
DONE = [Kept(JOB, "id-1", "completed", 1)]


def tried(act: Act, client: str, sent: float, ended: float, **more: Any) -> Exchange:
    """One exchange on the job, answered 200 unless told otherwise."""
    given: dict[str, Any] = {"fate": Fate.ANSWERED, "status": 200, "about": JOB, **more}
    return Exchange(act, client, sent=sent, ended=ended, **given)


def enqueue(sent: float = 0, ended: float = 1, **more: Any) -> Exchange:
    return tried(Act.ENQUEUE, "producer", sent, ended, **{"status": 201, "id": "id-1"} | more)


def fetch(client: str, sent: float, ended: float, attempt: int = 1, **more: Any) -> Exchange:
    handed = (Handed(JOB, "id-1", attempt),)
    return tried(Act.FETCH, client, sent, ended, **{"about": "f", "handed": handed} | more)


def ack(client: str, sent: float, ended: float, attempt: int = 1, **more: Any) -> Exchange:
    return tried(Act.ACK, client, sent, ended, attempt=attempt, **more)


def fail(client: str, sent: float, ended: float, attempt: int = 1, **more: Any) -> Exchange:
    return tried(Act.FAIL, client, sent, ended, attempt=attempt, **more)


def beat(client: str, sent: float, ended: float) -> Exchange:
    return tried(Act.BEAT, client, sent, ended, about=client, lost=(JOB,))


BROKEN: dict[str, Any] = {"fate": Fate.BROKEN, "status": 0, "id": ""}
UNAVAILABLE: dict[str, Any] = {"fate": Fate.UNAVAILABLE, "status": 503, "id": ""}
UNSENT: dict[str, Any] = {"fate": Fate.UNSENT, "status": 0, "id": ""}
COMPLETED: dict[str, Any] = {"status": 409, "state": "completed"}
AVAILABLE: dict[str, Any] = {"status": 409, "state": "available"}

RIGHT: dict[str, tuple[list[Exchange], list[Kept]]] = {
    "one delivery": ([enqueue(), fetch("a", 2, 3), ack("a", 4, 5)], DONE),
    "an enqueue without an answer that was stored": ([enqueue(**BROKEN)], DONE),
    "an enqueue without an answer that was not stored": ([enqueue(**UNAVAILABLE)], []),
    "an enqueue that is repeated": (
        [
            enqueue(0, 1, **BROKEN),
            enqueue(2, 3, status=200),
            fetch("a", 4, 5),
            ack("a", 6, 7),
        ],
        DONE,
    ),
    "a FETCH that is repeated before its answer": (
        [
            enqueue(),
            fetch("a", 2, 3, handed=(), **BROKEN),
            fetch("a", 4, 5),
            fetch("a", 6, 7),
            ack("a", 8, 9),
        ],
        DONE,
    ),
    "an ACK whose answer was lost": (
        [enqueue(), fetch("a", 2, 3), ack("a", 4, 5, **BROKEN), ack("a", 6, 7, **COMPLETED)],
        DONE,
    ),
    "a FETCH that waits over another's ACK": (
        [enqueue(), fetch("b", 1, 9, handed=()), fetch("a", 2, 3), ack("a", 4, 5)],
        DONE,
    ),
    "another delivery after a FAIL": (
        [enqueue(), fetch("a", 2, 3), fail("a", 4, 5), fetch("b", 6, 7, 2), ack("b", 8, 9, 2)],
        [Kept(JOB, "id-1", "completed", 2)],
    ),
    "another delivery while a FAIL has no answer yet": (
        [
            enqueue(),
            fetch("a", 2, 3),
            fail("a", 4, 10, **BROKEN),
            fetch("b", 5, 6, 2),
            ack("b", 8, 9, 2),
            fail("a", 11, 12, status=409, state="active"),
        ],
        [Kept(JOB, "id-1", "completed", 2)],
    ),
    "a BEAT that crosses a FAIL, and the next delivery to the same worker": (
        [
            enqueue(),
            fetch("a", 2, 3),
            beat("a", 4, 8),
            fail("a", 5, 6),
            fetch("a", 7, 9, 2),
            ack("a", 10, 11, 2),
        ],
        [Kept(JOB, "id-1", "completed", 2)],
    ),
    "a BEAT that crosses an ACK": (
        [enqueue(), fetch("a", 2, 3), ack("a", 4, 6), beat("a", 3.5, 7)],
        DONE,
    ),
}

WRONG: dict[str, tuple[set[Wrong], list[Exchange], list[Kept]]] = {
    "an enqueue that is gone": ({Wrong.LOST}, [enqueue()], []),
    "a repeated enqueue that is gone": (
        {Wrong.LOST},
        [enqueue(0, 1, **BROKEN), enqueue(2, 3, status=200)],
        [],
    ),
    "an ACK that is gone": (
        {Wrong.LOST},
        [enqueue(), fetch("a", 2, 3), ack("a", 4, 5)],
        [Kept(JOB, "id-1", "active", 1)],
    ),
    "an ACK of which only a refusal told, and which is gone": (
        {Wrong.LOST},
        [enqueue(), fetch("a", 2, 3), ack("a", 4, 5, **UNAVAILABLE), ack("a", 6, 7, **COMPLETED)],
        [Kept(JOB, "id-1", "available", 1)],
    ),
    "an ACK, and another delivery that completed the job": (
        {Wrong.LOST},
        [enqueue(), fetch("a", 2, 3), ack("a", 4, 5)],
        [Kept(JOB, "id-1", "completed", 2)],
    ),
    "a FAIL that was undone": (
        {Wrong.LOST},
        [enqueue(), fetch("a", 2, 3), fail("a", 4, 5), fetch("b", 6, 7), ack("b", 8, 9)],
        DONE,
    ),
    "a delivery after its ACK": (
        {Wrong.AFTER_ACK},
        [enqueue(), fetch("a", 2, 3), ack("a", 4, 5), fetch("b", 6, 7)],
        DONE,
    ),
    "a delivery after its ACK, which is acknowledged too": (
        {Wrong.AFTER_ACK, Wrong.LOST},
        [enqueue(), fetch("a", 2, 3), ack("a", 4, 5), fetch("b", 6, 7, 2), ack("b", 8, 9, 2)],
        DONE,
    ),
    "a delivery after its ACK to the same worker": (
        {Wrong.AFTER_ACK},
        [enqueue(), fetch("a", 2, 3), ack("a", 4, 5), fetch("a", 6, 7)],
        DONE,
    ),
    "a FETCH that was sent before the ACK, and answered after": (
        {Wrong.AFTER_ACK},
        [enqueue(), fetch("b", 1, 7), fetch("a", 2, 3), ack("a", 4, 5)],
        DONE,
    ),
    "a delivery after an ACK of which a refusal told": (
        {Wrong.AFTER_ACK},
        [
            enqueue(),
            fetch("a", 2, 3),
            ack("a", 4, 5, **BROKEN),
            ack("a", 6, 7, **COMPLETED),
            fetch("b", 8, 9, 2),
        ],
        DONE,
    ),
    "two workers with the same attempt": (
        {Wrong.TWO_HOLDERS},
        [enqueue(), fetch("a", 2, 3), fetch("b", 2, 4), ack("a", 5, 6)],
        DONE,
    ),
    "another attempt before the first ended": (
        {Wrong.TWO_HOLDERS},
        [enqueue(), fetch("a", 2, 3), fetch("b", 4, 5, 2), fail("a", 6, 7)],
        DONE,
    ),
    "another attempt after a FAIL that was refused": (
        {Wrong.TWO_HOLDERS, Wrong.LEASE_LOST},
        [enqueue(), fetch("a", 2, 3), fail("a", 4, 5, **AVAILABLE), fetch("b", 6, 7, 2)],
        DONE,
    ),
    "another attempt after a FAIL that never left": (
        {Wrong.TWO_HOLDERS},
        [enqueue(), fetch("a", 2, 3), fail("a", 4, 5, **UNSENT), fetch("b", 6, 7, 2)],
        DONE,
    ),
    "an ACK of the holder that is refused": (
        {Wrong.LEASE_LOST},
        [enqueue(), fetch("a", 2, 3), ack("a", 4, 5, **AVAILABLE)],
        DONE,
    ),
    "a repeated ACK that finds the job with another": (
        {Wrong.LEASE_LOST},
        [enqueue(), fetch("a", 2, 3), ack("a", 4, 5, **BROKEN), ack("a", 6, 7, **AVAILABLE)],
        DONE,
    ),
    "an ACK that never left, and is refused": (
        {Wrong.LEASE_LOST},
        [enqueue(), fetch("a", 2, 3), ack("a", 4, 5, **UNSENT), ack("a", 6, 7, **COMPLETED)],
        DONE,
    ),
    "an ACK that never left, is refused, and another delivery": (
        {Wrong.LEASE_LOST, Wrong.TWO_HOLDERS},
        [
            enqueue(),
            fetch("a", 2, 3),
            ack("a", 4, 5, **UNSENT),
            ack("a", 6, 7, **COMPLETED),
            fetch("b", 8, 9, 2),
        ],
        DONE,
    ),
    "a FAIL of the holder that is refused": (
        {Wrong.LEASE_LOST},
        [enqueue(), fetch("a", 2, 3), fail("a", 4, 5, status=404)],
        DONE,
    ),
    "a BEAT that calls a held job lost": (
        {Wrong.LEASE_LOST},
        [enqueue(), fetch("a", 2, 3), beat("a", 4, 5), ack("a", 6, 7)],
        DONE,
    ),
    "an enqueue that made two": (
        {Wrong.STORED_TWICE},
        [enqueue(0, 1, **BROKEN), enqueue(2, 3, id="id-2")],
        DONE,
    ),
    "two jobs of one enqueue": (
        {Wrong.STORED_TWICE},
        [enqueue()],
        [*DONE, Kept(JOB, "id-2", "completed", 1)],
    ),
    "an enqueue that is refused": ({Wrong.REFUSED}, [enqueue(status=409, id="")], []),
    "a job that nobody finished": (
        {Wrong.NEVER_FINISHED},
        [enqueue()],
        [Kept(JOB, "id-1", "active", 1)],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_nobody_who_kept_the_promises_is_convicted(name: str) -> None:
    exchanges, kept = RIGHT[name]
    assert judge(exchanges, kept) == []


@pytest.mark.parametrize("name", WRONG)
def test_each_broken_promise_is_convicted(name: str) -> None:
    wrong, exchanges, kept = WRONG[name]
    found = judge(exchanges, kept)
    assert {one.wrong for one in found} == wrong, found
    assert {one.job for one in found} == {JOB}


@pytest.mark.parametrize(
    ("kept", "rows", "wrong"),
    [
        (DONE, [Row(JOB, "id-1")], set()),
        ([], [], set()),
        (DONE, [], {Wrong.ORPHAN}),
        ([], [Row(JOB, "id-1")], {Wrong.LOST}),
        (DONE, [Row(JOB, "id-2")], {Wrong.STORED_TWICE}),
        ([Kept(JOB, "id-1", "available", 0)], [Row(JOB, "id-1")], {Wrong.NEVER_FINISHED}),
    ],
    ids=["both", "neither", "a job without its row", "a row without its job", "two", "open"],
)
def test_a_job_and_the_row_of_its_transaction_are_both_there_or_neither(
    kept: list[Kept], rows: list[Row], wrong: set[Wrong]
) -> None:
    assert {one.wrong for one in judge([], kept, rows)} == wrong


def test_every_kind_of_wrong_has_a_history() -> None:
    assert {Wrong.ORPHAN}.union(*(wrong for wrong, _, _ in WRONG.values())) == set(Wrong)


def test_a_job_that_was_handed_out_thrice_is_told_of_once() -> None:
    exchanges = [enqueue(), fetch("a", 2, 3), ack("a", 4, 5), fetch("b", 6, 7), fetch("c", 8, 9)]
    found = judge(exchanges, DONE)
    assert [one.said for one in found if one.wrong is Wrong.AFTER_ACK] == [
        "handed to b 2.0000 s after its ACK was answered"
    ]


def test_other_jobs_are_nobodys_business() -> None:
    other = [Kept("k", "id-9", "completed", 1)]
    exchanges = [enqueue(), enqueue(about="k", id="id-9"), fetch("a", 2, 3), ack("a", 4, 5)]
    assert judge(exchanges, [*DONE, *other]) == []


def test_the_story_of_a_job_has_its_exchanges_and_the_kills_between() -> None:
    exchanges = [
        enqueue(),
        enqueue(about="k"),
        fetch("a", 2, 3),
        ack("a", 4, 5, **BROKEN),
        ack("a", 7, 8, **COMPLETED),
        beat("a", 9, 10),
    ]
    kills = [Strike("postmaster", 4.5, 20, 2), Strike("node", 30, 20, 1)]
    lines = told(exchanges, kills, JOB)
    assert [line.split()[0] for line in lines] == [
        "0.0000",
        "2.0000",
        "4.0000",
        "4.5000",
        "7.0000",
        "9.0000",
    ]
    assert "KILL postmaster, 20 writes" in lines[3]
    assert lines[4].endswith("409 attempt 1 completed")
