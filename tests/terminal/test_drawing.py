"""A workflow drawn in a terminal."""

from typing import Any

from ojs_cli.drawing import drawn


def _step(name: str, *after: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "depends_on": list(after), **more}


def _text(steps: list[dict[str, Any]]) -> list[str]:
    return [
        f"{line.branches}{line.step['id']}{''.join(f' +{one}' for one in line.also)}"
        for line in drawn(steps)
    ]


def test_a_step_stands_below_the_last_one_that_it_waits_for() -> None:
    steps = [_step("pay"), _step("draw", "pay"), _step("print", "pay", "draw"), _step("log")]
    assert _text(steps) == ["├─ pay", "│  └─ draw", "│     └─ print +pay", "└─ log"]


def test_workflows_within_are_drawn_with_their_steps() -> None:
    steps = [_step("all", steps=[_step("a"), _step("b", "a")]), _step("end", "all")]
    assert _text(steps) == ["└─ all", "   ┊ └─ a", "   ┊    └─ b", "   └─ end"]


def test_steps_that_are_not_there_are_passed_over() -> None:
    assert _text([_step("a", "gone")]) == ["└─ a"]
