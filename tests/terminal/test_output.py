"""Tables on a terminal."""

import io
import json
from typing import Any

import pytest

from ojs_cli.columns import JOBS
from ojs_cli.output import Output, colours

JOB: dict[str, Any] = {
    "id": "01a2131a-f62a-7091-94b8-08af40af2097",
    "type": "mail.\x1b[31msend漢字",
    "queue": "mail",
    "state": "discarded",
    "attempt": 1,
    "max_attempts": 3,
    "created_at": "1970-01-01T00:00:00Z",
    "args": ["x" * 300],
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(width: int, form: str = "table", *, coloured: bool = False) -> list[str]:
    stream = Terminal()
    output = Output(form, stream, coloured, now_ms=lambda: 60_000, width=str(width))
    output.listing(JOBS, [JOB])
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("form", ["table", "wide"])
def test_a_table_is_no_wider_than_the_terminal(width: int, form: str) -> None:
    from rich.cells import cell_len

    lines = shown(width, form)
    assert len(lines) == 2
    assert all(cell_len(line.rstrip()) <= width for line in lines)
    assert lines[0].startswith("ID ")
    assert (JOB["id"] if width >= 120 else "01a2131a…af2097") in lines[1]


def test_the_last_columns_fall_where_it_is_narrow() -> None:
    assert shown(200)[0].split() == ["ID", "TYPE", "QUEUE", "STATE", "ATT", "AGE", "RUN"]
    assert shown(50)[0].split() == ["ID", "TYPE", "QUEUE"]


def written(form: str, *fields: str) -> str:
    stream = io.StringIO()
    output = Output(form, stream, False, now_ms=lambda: 60_000, fields=fields)
    output.listing(JOBS, [{**JOB, "error": {"type": "a,b", "message": 'say "no"'}}])
    return stream.getvalue()


def test_csv_has_a_head_and_raw_values() -> None:
    head, row = written("csv").splitlines()
    assert head.split(",")[:3] == ["id", "type", "queue"]
    assert row.startswith(f"{JOB['id']},")
    assert written("csv", "state", "error.type", "error.message", "none") == (
        'state,error.type,error.message,none\ndiscarded,"a,b","say ""no""",\n'
    )


def test_the_fields_that_were_asked_for_are_written() -> None:
    assert written("table", "queue", "error.type") == "mail\ta,b\n"
    assert json.loads(written("ndjson", "attempt", "error.type")) == {
        "attempt": 1,
        "error.type": "a,b",
    }
    assert json.loads(written("json", "attempt"))["items"] == [{"attempt": 1}]


def test_what_a_job_says_does_not_drive_the_terminal() -> None:
    line = shown(200)[1]
    assert "\x1b" not in line
    assert r"mail.\x1b[31msend漢字" in line
    coloured = shown(200, coloured=True)[1]
    assert "\x1b[1;31mdiscarded\x1b[0m" in coloured
    assert "\x1b[31msend" not in coloured


@pytest.mark.parametrize(
    ("wanted", "environ", "terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
        ("auto", {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"CLICOLOR_FORCE": "1"}, True, False),
    ],
)
def test_when_there_are_colours(
    wanted: str, environ: dict[str, str], terminal: bool, expected: bool
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    assert colours(stream, wanted, environ) is expected
