"""The command of the budgets: its arguments, and the bounds of what was measured."""

import pytest

from benchmarks.budgets.__main__ import asked, main
from benchmarks.budgets.following import Seen
from benchmarks.budgets.streams import losses
from benchmarks.budgets.table import BUDGETS
from benchmarks.stand import StoreKind


def test_a_size_counts_for_the_budget_before_it() -> None:
    words = ["gateway", "jobs=5", "seconds=0.5", "streams", "store=sqlite"]
    assert asked(words) == [
        ("gateway", {"jobs": 5, "seconds": 0.5}),
        ("streams", {"store": "sqlite"}),
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["gateways"], "there is no such budget"),
        (["jobs=5"], "before the name of a budget"),
        (["gateway", "rate=5"], "waiting=100 jobs=200 seconds=20.0"),
        (["outage", "store=sqlite"], "outage (postgres,"),
    ],
)
def test_what_there_is_not_is_refused(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        asked(words)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_what_is_bounded_for_streams_is_measured() -> None:
    values = losses([Seen(missing=1), Seen(reported_lost=2)]) | {"memory grew by, MB": 0.0}
    figures = BUDGETS["streams"].judged("streams", "sqlite", values)
    found = [(figure.name, figure.value) for figure in figures if not figure.kept]
    assert found == [("events missing", 1), ("reported losses", 2)]


def test_without_a_name_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n{name} (" in listed for name in BUDGETS)


@pytest.mark.parametrize(("store", "kept"), [("sqlite", False), ("postgres", True)])
def test_a_bound_may_depend_on_the_store(store: StoreKind, kept: bool) -> None:
    (figure,) = BUDGETS["worker"].judged("worker", store, {"jobs/s": 3500})
    assert figure.kept is kept
    assert ("NOT KEPT" in figure.line()) is not kept


def test_a_bound_without_a_figure_is_a_mistake() -> None:
    with pytest.raises(LookupError, match="p50, in those of the FETCH"):
        BUDGETS["gateway"].judged("gateway", "sqlite", {"waiting calls, % of a core": 1})
