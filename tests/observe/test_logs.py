"""Log lines: JSON that parses, whatever is logged."""

import logging
import sys
from collections.abc import Iterator

import pytest

from ojs_server.observe.logs import set_up
from ojs_wire import codec
from ojs_wire.lines import JsonFormatter
from ojs_wire.values import parse_timestamp


@pytest.fixture(autouse=True)
def _restore_root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in ("uvicorn", "psycopg.pool"):
        logging.getLogger(name).setLevel(logging.NOTSET)


def record(message: str, *args: object, level: int = logging.INFO) -> logging.LogRecord:
    return logging.LogRecord("ojs.test", level, __file__, 1, message, args, None)


@pytest.mark.parametrize(
    ("level", "severity", "number"),
    [
        (logging.DEBUG, "DEBUG", 5),
        (logging.INFO, "INFO", 9),
        (logging.WARNING, "WARN", 13),
        (logging.ERROR, "ERROR", 17),
        (logging.CRITICAL, "FATAL", 21),
        (35, "Level 35", 9),
    ],
)
def test_a_line_says_when_how_bad_who_and_what(level: int, severity: str, number: int) -> None:
    logged = record("hello %s", "world", level=level)
    logged.created = 1_700_000_000.9996
    line = codec.decode(JsonFormatter("server").format(logged).encode())
    assert line == {
        "timestamp": "2023-11-14T22:13:20.999Z",
        "severity": severity,
        "severity_number": number,
        "message": "hello world",
        "component": "server",
        "logger": "ojs.test",
    }
    assert parse_timestamp(line["timestamp"]) == 1_700_000_000_999


@pytest.mark.parametrize("text", ["a\nb", 'a"b\\', "\0\x1b[31m", "\ud800", "é\u2028", "x" * 9999])
def test_every_line_is_one_line_of_json(text: str) -> None:
    shown = JsonFormatter("server").format(record("%s", text))
    assert "\n" not in shown
    assert codec.decode(shown.encode())["message"]


@pytest.mark.parametrize("text", ["bad", "bad \ud800"])
def test_an_error_is_shown_with_its_trace(text: str) -> None:
    logged = record("it failed")
    try:
        raise ValueError(text)
    except ValueError:
        logged.exc_info = sys.exc_info()
    shown = codec.decode(JsonFormatter("server").format(logged).encode())
    assert "ValueError" in str(shown["error"])
    assert "Traceback" in str(shown["error"])


def test_lines_for_people_and_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("text", "warning")
    logging.getLogger("ojs.test").warning("for people")
    logging.getLogger("ojs.test").info("not for anybody")
    assert "WARNING ojs.test: for people" in capsys.readouterr().err
    set_up("json", "info")
    logging.getLogger("ojs.test").info("for machines")
    lines = capsys.readouterr().err.splitlines()
    assert [codec.decode(line.encode())["message"] for line in lines] == ["for machines"]


def test_setting_up_twice_logs_once(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("text", "info")
    set_up("text", "info")
    logging.getLogger("ojs.test").info("once")
    assert capsys.readouterr().err.count("once") == 1
