"""The error of a FAIL in all its dialects, and the history."""

from typing import Any

import pytest

from ojs_server.domain.errors import InvalidRequest, OjsError, TooLarge
from ojs_server.domain.jobs.reported_error import (
    HISTORY,
    MAX_DETAILS,
    MAX_FRAMES,
    MAX_TEXT,
    Fault,
    append_entry,
    entry,
    parse_fault,
)
from ojs_wire import codec


@pytest.mark.parametrize(
    ("given", "code", "kind", "message"),
    [
        (None, "handler_error", "handler_error", "the handler failed"),
        ("", "handler_error", "handler_error", "the handler failed"),
        ("boom", "handler_error", "handler_error", "boom"),
        ({}, "handler_error", "handler_error", "the handler failed"),
        ({"message": "boom"}, "handler_error", "handler_error", "boom"),
        ({"code": "c", "message": "boom"}, "c", "c", "boom"),
        ({"type": "t", "message": "boom"}, "t", "t", "boom"),
        ({"code": "c", "type": "t", "message": "boom"}, "c", "t", "boom"),
        ({"code": "c", "details": {"error_class": "K"}}, "c", "K", "the handler failed"),
        ({"code": None, "type": None, "message": None}, "handler_error", "handler_error", None),
        ({"code": "", "type": "", "message": ""}, "handler_error", "handler_error", None),
    ],
)
def test_code_type_and_message_are_always_there(
    given: object, code: str, kind: str, message: str | None
) -> None:
    fault = parse_fault(given)
    assert (fault.code, fault.type) == (code, kind)
    assert fault.message == (message or "the handler failed")
    assert fault.retryable
    assert fault.action == "retry"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (5, "error"),
        ([], "error"),
        (True, "error"),
        ({"code": 5}, "error.code"),
        ({"type": []}, "error.type"),
        ({"message": {}}, "error.message"),
        ({"retryable": "no"}, "error.retryable"),
        ({"details": "x"}, "error.details"),
        ({"backtrace": 5}, "error.backtrace"),
        ({"backtrace": ["a", 1]}, "error.backtrace"),
    ],
)
def test_a_malformed_error_names_its_member(given: object, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_fault(given)
    assert refused.value.details == {"field": field}


def test_texts_are_cut_and_details_bounded() -> None:
    fault = parse_fault({"message": "x" * (MAX_TEXT + 1), "code": "c" * 1000, "type": "t" * 1000})
    assert len(fault.message) == MAX_TEXT
    assert fault.message.endswith("…")
    assert len(fault.code) == len(fault.type) == 255
    assert len(parse_fault({"details": {"error_class": "k" * 1000}}).type) == 255
    assert parse_fault({"message": "x" * MAX_TEXT}).message == "x" * MAX_TEXT
    with pytest.raises(TooLarge, match=r"`error\.details` has \d+ bytes; at most 65536"):
        parse_fault({"details": {"x": "y" * MAX_DETAILS}})


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, None),
        ([], []),
        ("a\nb", ["a", "b"]),
        (["a"] * (MAX_FRAMES + 5), ["a"] * MAX_FRAMES),
        (["x" * (MAX_TEXT + 5), "y"], ["x" * MAX_TEXT]),
        (["x" * (MAX_TEXT - 2), "yyy", "z"], ["x" * (MAX_TEXT - 2), "yy"]),
    ],
)
def test_a_backtrace_keeps_its_first_frames(given: object, kept: list[str] | None) -> None:
    assert parse_fault({"backtrace": given}).backtrace == kept


@pytest.mark.parametrize(
    ("given", "action"),
    [
        ({"code": "RETRY"}, "retry"),
        ({"code": "DISCARD"}, "discard"),
        ({"code": "FAIL"}, "discard"),
        ({"code": "DEAD_LETTER"}, "dead_letter"),
        ({"code": "DISCARD", "details": {"action": "retry"}}, "retry"),
        ({"details": {"action": "snooze"}}, "snooze"),
        ({"details": {"action": "dead_letter"}}, "dead_letter"),
        ({"details": {"action": "dance"}}, "retry"),
        ({"details": {"action": 5}, "code": "DISCARD"}, "discard"),
        ({"type": "DISCARD", "code": "x"}, "retry"),
    ],
)
def test_a_handler_may_ask_for_an_outcome(given: dict[str, Any], action: str) -> None:
    assert parse_fault(given).action == action


@pytest.mark.parametrize(
    ("details", "milliseconds"),
    [
        ({}, 0),
        ({"retry_after_ms": None}, 0),
        ({"retry_after_ms": 1500}, 1500),
        ({"retry_after_ms": "PT2S"}, 2000),
    ],
)
def test_how_long_a_snooze_lasts(details: dict[str, Any], milliseconds: int) -> None:
    assert parse_fault({"details": details}).snooze_ms == milliseconds
    assert Fault("c", "t", "m").snooze_ms == 0


@pytest.mark.parametrize("value", [-1, "soon", True, [], 1e300])
def test_a_snooze_of_no_length_is_refused(value: object) -> None:
    with pytest.raises(OjsError, match=r"error\.details\.retry_after_ms"):
        _ = parse_fault({"details": {"retry_after_ms": value}}).snooze_ms


def test_an_entry_shows_what_the_worker_said_and_which_delivery_it_was() -> None:
    fault = parse_fault({"code": "c", "type": "t", "message": "m", "details": {"a": 1}})
    assert codec.decode(entry(fault, 4, 1_700_000_000_120)) == {
        "code": "c",
        "type": "t",
        "message": "m",
        "retryable": True,
        "attempt": 4,
        "occurred_at": "2023-11-14T22:13:20.120Z",
        "details": {"a": 1},
    }
    timeout = Fault("timeout", "timeout", "m", timeout_kind="execution", limit_seconds=2.0)
    shown = codec.decode(entry(timeout, 1, 0))
    assert (shown["timeout_kind"], shown["limit_seconds"]) == ("execution", 2.0)
    shown = codec.decode(entry(timeout, 1, 2_000, started_at=1_000, worker_id="w"))
    assert (shown["started_at"], shown["worker_id"]) == ("1970-01-01T00:00:01Z", "w")


def test_the_history_is_oldest_first_and_keeps_the_newest() -> None:
    history: bytes | None = None
    for attempt in range(1, HISTORY + 6):
        history = append_entry(history, entry(parse_fault(f"m{attempt}"), attempt, attempt))
        shown = codec.decode(history)
        first = max(1, attempt - HISTORY + 1)
        assert [one["attempt"] for one in shown] == list(range(first, attempt + 1))
    assert HISTORY >= 10
