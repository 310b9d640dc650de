"""The screen of `ojs top`, drawn."""

import pytest

from ojs_cli.top.screen import draw
from ojs_cli.top.terminal import keys
from ojs_cli.top.view import KEYS, View
from tests.terminal.top.samples import NOW, SNAPSHOT


def drawn(view: View, width: int = 80, height: int = 24, trouble: str = "") -> list[str]:
    return [line.plain for line in draw(SNAPSHOT, view, width, height, NOW + 5000, trouble)]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("height", [5, 10, 24, 50])
@pytest.mark.parametrize("table", ["queues", "workers", "failures"])
def test_it_fits_its_terminal(width: int, height: int, table: str) -> None:
    from rich.cells import cell_len

    lines = drawn(View(table=table), width, height)  # type: ignore[arg-type]
    assert len(lines) == height
    assert all(cell_len(line) <= width for line in lines)
    assert all(line.isprintable() for line in lines)


def test_what_is_on_it() -> None:
    text = "\n".join(drawn(View()))
    assert "prod  http://jobs.example  live" in text
    assert "active 4/16 [####------------] 25%" in text
    assert "run p50 12ms  run p99 480ms" in text
    lines = text.splitlines()
    assert [line.split()[:3] for line in lines[5:9]] == [
        [">", "print", "paused"],
        ["video", "nobody", "3"],
        ["mail", "ok", "5"],
        ["idle", "ok", "0"],
    ]
    assert "mail.send  Timeout  x3" in text
    assert "1h  video.cut" in text


def test_failures_and_their_foreign_text() -> None:
    text = "\n".join(drawn(View(table="failures")))
    assert r"NoSpace\x1b[2J" in text


def test_what_the_last_line_says() -> None:
    view = View(selected="mail")
    assert drawn(view)[-1].startswith(" / filter")
    view.press("C", SNAPSHOT)
    assert drawn(view)[-1] == " cancel 5 waiting jobs of mail? [y/N]"
    view.press("n", SNAPSHOT)
    assert drawn(view)[-1] == " nothing was done"
    view.press("/", SNAPSHOT)
    view.press("m", SNAPSHOT)
    assert drawn(view)[-1] == " /m_"


def test_keys_are_explained_and_silence_is_told() -> None:
    help = "\n".join(drawn(View(helping=True)))
    assert all(what in help for _, what in KEYS)
    assert "frozen" in drawn(View(frozen=True))[0]
    assert "no answer for 5s: refused" in drawn(View(), trouble="refused")[0]


def test_a_long_table_moves_with_the_cursor() -> None:
    lines = drawn(View(selected="idle"), height=8)
    assert any(line.startswith("> idle") for line in lines)


def test_keys_have_names() -> None:
    assert keys("\x1b[A\x1bOBj\t\r\x7f\x1b") == [
        "up",
        "down",
        "j",
        "tab",
        "enter",
        "backspace",
        "esc",
    ]
    assert keys("\x1b[5~\x01é") == ["é"]
