"""Schedules, and how they are played."""

from typing import Any

from ojs_server.ops.jobs.settle import Ack
from tests.ops.bench import Bench
from tests.simulation.postgres.arena import Arena
from tests.simulation.postgres.pair import Pair
from tests.simulation.postgres.pairs.all import PAIRS
from tests.simulation.postgres.schedule import Schedule, schedules, serial
from tests.simulation.postgres.verdict import Judge


def order(schedule: Schedule, lengths: tuple[int, int]) -> str:
    """The sides in the order of their steps, if none waits."""
    taken, turns = [0, 0], ""
    while taken != list(lengths):
        side = schedule.turn((taken[0], taken[1]))
        side = side if taken[side] < lengths[side] else 1 - side
        taken[side] += 1
        turns += "ab"[side]
    return turns


def test_all_orders_with_up_to_two_switches_are_played_once() -> None:
    played = [order(one, (3, 2)) for one in schedules((3, 2))]
    assert len(played) == len({*schedules((3, 2))}) == 7
    assert sorted({*played}) == ["aabab", "aabba", "abaab", "abbaa", "baaab", "baaba", "babaa"]


def test_one_after_the_other_is_serial() -> None:
    assert [order(serial(side), (3, 2)) for side in (0, 1)] == ["aaabb", "bbaaa"]


def test_the_same_schedule_gives_the_same_trace(arena: Arena) -> None:
    """It names statements, waits for locks, and who goes on."""
    arena.enter(PAIRS["ACK and FAIL"])
    schedule = Schedule(1, 4, 3)
    traces = [arena.play(schedule).played.trace for _ in range(5)]
    assert traces == [traces[0]] * 5
    assert traces[0][:8] == [
        *("b1 begun", "b2 load_jobs", "b3 leases_of", "b4 write_changes"),
        *("a1 begun", "a2 load_jobs", "a waits", "b5 drop_leases"),
    ]
    assert traces[0][-3:] == ["a goes on", "a3 leases_of", "a4 COMMIT"]


def test_each_play_begins_with_the_same_rows(arena: Arena) -> None:
    arena.enter(PAIRS["fire and fire"])
    first, second = arena.serial(), arena.serial()
    assert [one.outcome for one in first] == [one.outcome for one in second]
    assert first[0].outcome != first[1].outcome


def _two_active(bench: Bench) -> list[str]:
    jobs = [bench.put() for _ in range(2)]
    bench.take("w", 2)
    return jobs


def test_an_outcome_of_neither_order_is_a_finding(arena: Arena) -> None:
    """Here the world itself changes, as a serial play cannot."""
    jobs: list[Any] = []

    def first(known: list[str]) -> tuple[Ack]:
        jobs.append(None)
        return (Ack(known[0], "w", 1, b"1" if len(jobs) < 3 else b"2"),)

    pair = Pair("changing", _two_active, first, lambda known: (Ack(known[1], "w", 1),))
    judge = Judge(arena, pair)
    judge.play(Schedule(0, 2, 2))
    (finding,) = judge.verdict.findings
    assert any("result" in line for line in finding.wrong)
    assert finding.trace[0] == "a1 begun"


def test_what_is_passed_over_is_as_if_the_other_were_alone(arena: Arena) -> None:
    judge = Judge(arena, PAIRS["claim and sweep that promote one retry"])
    judge.play(Schedule(0, 1, 3))
    assert (judge.verdict.third, judge.verdict.findings) == (1, [])
