"""Failures of handlers, and the form in which they are reported to the server."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ojs_server.domain.jobs.reported_error import parse_fault
from ojs_worker.errors import error_body, refusal
from ojs_worker.faults import (
    MAX_BACKTRACE,
    MAX_FRAMES,
    BadArguments,
    BadResult,
    Discard,
    HandlerDied,
    Retry,
    Snooze,
    fault_of,
    refused_result,
    shut_down,
    timed_out,
)


class AddressUnknown(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "type", "code", "retryable"),
    [
        (ValueError("x"), "ValueError", "handler_error", True),
        (AddressUnknown("x"), "AddressUnknown", "handler_error", True),
        (Retry("x"), "Retry", "handler_error", True),
        (Retry("x", type="smtp.busy"), "smtp.busy", "handler_error", True),
        (Discard("x"), "Discard", "handler_error", False),
        (Discard("x", type="smtp.gone"), "smtp.gone", "handler_error", False),
        (Snooze(5, "x"), "Snooze", "snooze", True),
        (BadArguments("x", "to"), "InvalidArguments", "invalid_arguments", False),
        (BadResult("x"), "BadResult", "bad_result", False),
        (HandlerDied("x"), "HandlerDied", "handler_died", True),
    ],
)
def test_each_failure_has_its_form(error: Exception, type: str, code: str, retryable: bool) -> None:
    fault = fault_of(error)
    assert (fault.type, fault.code, fault.message, fault.retryable) == (type, code, "x", retryable)


def test_an_error_without_words_is_named() -> None:
    assert fault_of(KeyError()).message == "KeyError"


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (Discard("x"), "discard"),
        (Discard("x", dead_letter=True), "dead_letter"),
        (Snooze("90s"), "snooze"),
        (ValueError("x"), "retry"),
        (Retry("x"), "retry"),
    ],
)
def test_the_server_reads_what_the_handler_asked_for(error: Exception, action: str) -> None:
    wire = msgspec.json.decode(msgspec.json.encode(fault_of(error)))
    assert parse_fault(wire).action == action


@pytest.mark.parametrize("delay", [90, 90.0, "90s", "PT1M30S", timedelta(seconds=90)])
def test_a_snooze_says_how_long(delay: Any) -> None:
    wire = msgspec.json.decode(msgspec.json.encode(fault_of(Snooze(delay))))
    assert parse_fault(wire).snooze_ms == 90_000


def test_the_class_of_an_error_can_be_matched() -> None:
    details = fault_of(AddressUnknown("x")).details or {}
    assert details["error_class"] == f"{__name__}.AddressUnknown"


def raised_at_depth(depth: int) -> Exception:
    def down(left: int) -> None:
        if left:
            down(left - 1)
        raise ValueError("deep")

    try:
        down(depth)
    except ValueError as error:
        return error
    raise AssertionError


def test_the_backtrace_keeps_the_innermost_frames() -> None:
    lines = fault_of(raised_at_depth(200)).backtrace or []
    assert 0 < len(lines) <= MAX_FRAMES
    assert sum(map(len, lines)) <= MAX_BACKTRACE
    assert 'raise ValueError("deep")' in lines[-1]


def test_details_that_json_cannot_hold_spoil_nothing() -> None:
    told = fault_of(Discard("x", details={"when": object(), "n": 1, 3: "three"}))  # type: ignore[dict-item]
    wire = msgspec.json.decode(msgspec.json.encode(told))
    assert wire["details"]["n"] == 1
    assert wire["details"]["action"] == "discard"


@given(st.text(max_size=20), st.dictionaries(st.text(max_size=5), st.floats() | st.binary()))
def test_any_failure_can_be_written_and_read_by_the_server(message: str, details: Any) -> None:
    for error in (ValueError(message), Retry(message, details=details)):
        wire = msgspec.json.decode(msgspec.json.encode(fault_of(error)))
        assert parse_fault(wire).message


def test_faults_of_the_worker_itself() -> None:
    assert timed_out(1.5).type == timed_out(1.5).code == "timeout"
    assert shut_down(25).type == "shutdown"
    assert refused_result(413, "too large").code == "RESULT_TOO_LARGE"


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (b'{"error":{"code":"conflict","message":"no"}}', "no", "conflict"),
        (b'{"error":"text"}', "text", None),
        (b"404 page not found", "404 page not found", None),
        (b"\xff\xfe", None, None),
        (b"[]", None, None),
        (b"", "", None),
    ],
)
def test_every_dialect_of_errors_is_read(body: bytes, message: str | None, code: Any) -> None:
    found = error_body(body)
    assert found.code == code
    if message is not None:
        assert found.message == message
    assert str(refusal(409, body))
