"""A client's bytes become the same statements, however they arrive."""

from struct import pack

import pytest

from tests.simulation.postgres.messages import Answers, Requests, Statement, numbers_in

STARTUP = pack(">II", 8, 196608)
NAMES = {b"BEGIN": "begin", b"SELECT 1": "begun", b"SELECT 2": "two", b"COMMIT": "COMMIT"}


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + pack(">I", len(body) + 4) + body


def call(text: bytes, name: bytes = b"") -> bytes:
    """Prepare, bind and execute."""
    return (
        message(b"P", name + b"\0" + text + b"\0\0\0")
        + message(b"B", b"\0" + name + b"\0" + b"\0" * 6)
        + message(b"D", b"P\0")
        + message(b"E", b"\0\0\0\0\0")
    )


GROUP = call(b"BEGIN") + call(b"SELECT 1") + call(b"SELECT 2", b"s2") + message(b"H")
ENDING = message(b"B", b"\0s2\0" + b"\0" * 6) + message(b"E", b"\0" * 5) + call(b"COMMIT")


def statements(data: bytes, step: int) -> list[Statement]:
    requests = Requests(NAMES)
    for start in range(0, len(data), step):
        requests.feed(data[start : start + step])
    return list(requests.statements)


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_statements_are_found_in_any_pieces(step: int) -> None:
    found = statements(STARTUP + GROUP + ENDING + message(b"S"), step)
    assert [(one.name, one.executes, one.syncs) for one in found] == [
        ("begun", 2, 0),
        ("two", 1, 0),
        ("two", 1, 0),
        ("COMMIT", 1, 1),
    ]
    assert [one.begins for one in found] == [True, False, False, False]
    assert b"".join(bytes(one.data) for one in found) == GROUP + ENDING + message(b"S")


def test_a_group_waits_for_its_end() -> None:
    requests = Requests(NAMES)
    assert requests.feed(STARTUP) == STARTUP
    requests.feed(call(b"SELECT 2"))
    assert not requests.statements
    requests.feed(message(b"H"))
    assert [one.name for one in requests.statements] == ["two"]


def test_answers_are_counted_up_to_an_error() -> None:
    answers = Answers()
    row = pack(">hiqiq", 2, 8, 12, 8, 34)
    answers.feed(message(b"2") + message(b"D", row) + message(b"C", b"SELECT 1\0"))
    assert (answers.executes, answers.failed, answers.row) == (1, False, row)
    assert numbers_in(row, 2) == [12, 34]
    answers.feed(message(b"E", b"SERROR\0C23505\0\0"))
    assert (answers.failed, answers.error) == (True, "23505")
    answers.feed(message(b"Z", b"I"))
    assert (answers.failed, answers.syncs, answers.idle) == (False, 1, True)
