"""Sums over seeds are kept, resumed and told."""

from itertools import islice
from pathlib import Path

from tests.simulation.draw import draw
from tests.simulation.play import Outcome
from tests.simulation.tally import MOST_KEPT, Tally, load, save


def outcome(*wrongs: str, operations: int = 10) -> Outcome:
    return Outcome(
        list(wrongs), "digest", 100, 30.0, operations, {"kill": 2}, {"act enqueue: ok": 3}
    )


def test_outcomes_are_added_up() -> None:
    tally = Tally()
    tally.add(draw(1, 1), outcome(), None, "abc")
    tally.add(draw(2, 2), outcome(operations=5), 2, "abc")
    assert (tally.seeds, tally.shared_seeds) == (2, 1)
    assert (tally.operations, tally.shared_operations) == (15, 5)
    assert (tally.steps, tally.simulated_s, tally.failed) == (200, 60.0, 0)
    assert (tally.fired, tally.reached) == ({"kill": 4}, {"act enqueue: ok": 6})
    assert tally.versions == {"abc": 2}


def test_a_finding_is_kept_once_for_each_oracle_and_seed() -> None:
    tally = Tally()
    for seed in range(MOST_KEPT + 5):
        tally.add(draw(seed, 1), outcome("order: a", "order: b", "events: c"), 1, "abc")
    assert tally.failed == MOST_KEPT + 5
    assert tally.by_oracle == {"order": MOST_KEPT + 5, "events": MOST_KEPT + 5}
    assert len(tally.findings) == 2 * MOST_KEPT
    first = next(one for one in tally.findings if one.oracle == "order")
    assert (first.seed, first.nodes, first.wrong, first.version) == (0, 1, "order: a", "abc")


def test_a_run_goes_on_with_the_seeds_that_are_left(tmp_path: Path) -> None:
    tally, path = Tally(), tmp_path / "sums" / "state.json"
    for seed in (1, 0, 3, 5):
        tally.passed(seed)
    save(tally, path)
    again = load(path)
    assert again == tally
    assert list(islice(again.left(), 4)) == [2, 4, 6, 7]
    for seed in (2, 4):
        again.passed(seed)
    assert (again.next_seed, again.ahead) == (6, [])


def test_sums_are_told_as_tables() -> None:
    tally = Tally()
    tally.add(draw(7, 2), outcome("order: one | two\nthree", operations=12_345), None, "abc")
    text = tally.markdown()
    for row in (
        "| operations | 12,345 |",
        "| operations with 2 nodes or more | 12,345 |",
        "| kill | 2 |",
        "| enqueue: ok | 3 |",
        r"| 7 | drawn | mixed | order | order: one \| two three |",
    ):
        assert row in text.splitlines()
