"""The sums of a run, which outlive its process."""

import random
from collections import Counter
from pathlib import Path

from tests.chaos.__main__ import main
from tests.chaos.accounting import Violation, Wrong
from tests.chaos.history import Act, Exchange, Fate, History, Strike
from tests.chaos.kinds import KILLS, planned
from tests.chaos.rounds import Played
from tests.chaos.tally import Tally, lines_of, load, save


def a_round(*kills: Strike, broken: bool = False) -> Played:
    history = History(lambda: 0.0)
    history.exchanges = [
        Exchange(Act.ENQUEUE, "p", "j", 0, ended=1, fate=Fate.BROKEN),
        Exchange(Act.ENQUEUE, "p", "j", 2, ended=3, fate=Fate.UNAVAILABLE, status=503),
        Exchange(Act.ENQUEUE, "p", "j", 4, ended=5, fate=Fate.UNAVAILABLE, status=500, said="oh"),
        Exchange(Act.ENQUEUE, "p", "j", 6, ended=7, fate=Fate.ANSWERED, status=201, id="1"),
    ]
    history.strikes = list(kills)
    wrong = [Violation(Wrong.LOST, "j", "it is not there")] if broken else []
    return Played(history, 2, 1, wrong, unanswered_commits=2)


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    first = load(path, 7)
    first.add("kills", a_round(Strike("node", 1, 30, 1), Strike("backend", 2, 20, 2)), 1.5)
    save(first, path)
    then = load(path, 8)
    assert then == first
    assert then.seed == 7
    assert then.done(KILLS) == 2
    assert then.rounds == {"kills": 1}
    then.add("kills", a_round(Strike("node", 1, 25, 0)), 1.5)
    assert then.kills == {"node": 2, "backend": 1}
    assert then.done(["node"]) == 2
    assert then.rounds == {"kills": 2}


def test_the_sums_say_what_the_kills_met() -> None:
    tally = Tally(7)
    tally.add("kills", a_round(Strike("node", 1, 30, 1), Strike("backend", 2, 20, 2)), 1.5)
    assert tally.lines() == [
        "seed 7: 2 kills in 2 s (1 backend, 1 node)",
        "jobs: 2, 1 of them in transactions of programs, handed out 0 times; 4 ENQUEUE",
        "writes in flight at a kill: at least 20, 25 on average",
        "COMMITs under way: 3, in 2 kills; COMMITs without an answer, by the nodes' logs: 2",
        "connections that broke during a call: 1 ENQUEUE",
        "calls answered 503: 1 ENQUEUE",
        "other answers in the 500s: 1 500 to ENQUEUE",
        "  500 to ENQUEUE: oh",
        "broken promises: none",
    ]


def test_a_broken_promise_comes_with_its_story(tmp_path: Path) -> None:
    tally = Tally(7)
    (story,) = tally.add("kills", a_round(Strike("node", 1.5, 30, 1), broken=True), 1.5)
    lines = lines_of(story)
    assert lines[0] == "LOST in round kills 0: j: it is not there"
    assert [line.split()[2] for line in lines[1:]] == [
        "1.0000",
        "node,",
        "3.0000",
        "5.0000",
        "7.0000",
    ]
    assert tally.lines()[-1] == "broken promises: 1 lost"
    save(tally, tmp_path / "state.json")
    assert load(tmp_path / "state.json", 0).stories == [story]


def test_each_kind_comes_as_often_as_another_over_several_rounds() -> None:
    luck = random.Random(1)
    kinds = list(KILLS)
    kills = 3 * len(kinds)
    plan = planned(kinds, 10, 0, luck) + planned(kinds, kills - 10, 10, luck)
    assert set(Counter(plan).values()) == {3}


def test_a_kill_that_there_is_not_is_refused() -> None:
    said: list[str] = []
    assert main(["--kinds", "node,backed"], said.append) == 2
    assert said == ["no kill is called 'backed' (nearest: 'backend')"]
