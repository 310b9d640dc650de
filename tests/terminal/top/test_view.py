"""The keys of `ojs top`."""

import msgspec
import pytest

from ojs_cli.top.view import QUIT, Act, View
from tests.terminal.top.samples import SNAPSHOT


def pressed(view: View, *keys: str) -> Act | str | None:
    answer: Act | str | None = None
    for key in keys:
        answer = view.press(key, SNAPSHOT)
    return answer


def names(view: View) -> list[str]:
    return [row.key for row in view.rows(SNAPSHOT)]


def test_trouble_comes_first_and_other_orders_are_a_key_away() -> None:
    view = View()
    # One is paused, and nobody serves another one.
    assert names(view) == ["print", "video", "mail", "idle"]
    pressed(view, "s")
    assert names(view) == ["idle", "mail", "print", "video"]
    pressed(view, "s")
    assert names(view) == ["mail", "video", "print", "idle"]


def test_the_cursor_stays_with_its_row() -> None:
    view = View()
    pressed(view, "down", "j")
    assert view.selected == "mail"
    pressed(view, "s")
    assert view.rows(SNAPSHOT)[view.place(view.rows(SNAPSHOT))].key == "mail"
    pressed(view, "end", "down")
    assert view.selected == "video"
    pressed(view, "home", "up")
    assert view.selected == "idle"


def test_a_filter_is_typed() -> None:
    view = View()
    pressed(view, "/", "i", "d", "q")
    assert names(view) == []
    assert view.filter == "idq"
    pressed(view, "backspace", "enter")
    assert names(view) == ["video", "idle"]
    assert pressed(view, "esc") is None
    assert len(names(view)) == 4
    pressed(view, "/", "x", "esc")
    assert (view.typing, view.filter) == (False, "")


@pytest.mark.parametrize(
    ("keys", "verb", "targets", "question"),
    [
        (["P"], "resume", ("print",), "resume print"),
        (["down", "P"], "pause", ("video",), "pause video"),
        ([" ", "down", " ", "P"], "pause", ("print", "video"), "pause print, video"),
        (["down", "R"], "retry", ("video",), "retry 1 dead job of video"),
        (["down", "down", "C"], "cancel", ("mail",), "cancel 5 waiting jobs of mail"),
        (["tab", "P"], "wake", ("w2",), "let w2 take jobs again"),
        (["tab", "down", "P"], "quiet", ("w1",), "let w1 take no more jobs"),
    ],
)
def test_capitals_ask_and_act_on_yes(
    keys: list[str], verb: str, targets: tuple[str, ...], question: str
) -> None:
    view = View()
    assert pressed(view, *keys) is None
    assert view.to_confirm == Act(verb, targets, question)  # type: ignore[arg-type]
    assert pressed(view, "y") == Act(verb, targets, question)  # type: ignore[arg-type]
    assert pressed(view, keys[-1], "n") is None
    assert view.message == "nothing was done"
    assert pressed(view, "y") is None


def test_a_failure_is_retried() -> None:
    view = View()
    act = pressed(view, "tab", "tab", "R", "y")
    assert isinstance(act, Act)
    assert act.targets == (SNAPSHOT.failing[0],)
    assert act.question == "retry 2 dead jobs or more of mail.send Timeout"


@pytest.mark.parametrize("keys", [["R"], ["tab", "R"], ["tab", "C"], ["end", "C"]])
def test_where_there_is_nothing_to_do_nothing_is_asked(keys: list[str]) -> None:
    view = View()
    pressed(view, *keys)
    assert view.to_confirm is None
    assert view.message


def test_an_empty_table_takes_every_key() -> None:
    empty = msgspec.structs.replace(SNAPSHOT, queues=(), workers=(), failing=())
    view = View()
    for key in ("down", " ", "P", "R", "C", "tab", "tab", "R", "?", "x", "s", "z"):
        assert view.press(key, empty) is None
    assert view.frozen
    assert view.press("q", empty) == QUIT
