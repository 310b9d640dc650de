"""Choice among many job types: in the order of the queues, or of each queue in turn."""

from ojs_server.domain.workers.next_types import FEW, MOST, choose_types, most_types

FOUND = [("q", "b"), ("q", "a"), ("q", "c"), ("r", "a"), ("r", "d")]


def test_types_of_the_first_queue_come_first() -> None:
    assert choose_types(FOUND, 9, in_turn=False) == ("b", "a", "c", "d")


def test_queues_that_take_turns_are_all_seen() -> None:
    assert choose_types(FOUND, 9, in_turn=True) == ("b", "a", "d", "c")
    many = [("q", f"t{n}") for n in range(MOST)] + [("r", "own")]
    assert "own" in choose_types(many, MOST, in_turn=True)


def test_no_more_types_come_than_a_claim_reads() -> None:
    many = [("q", f"t{n}") for n in range(3 * MOST)]
    assert choose_types(many, MOST, in_turn=False) == tuple(f"t{n}" for n in range(MOST))
    assert choose_types([], 9, in_turn=True) == ()


def test_a_claim_reads_no_more_types_than_jobs_are_wanted_and_some() -> None:
    assert FEW < most_types(1) < most_types(50) < most_types(1000) == MOST
