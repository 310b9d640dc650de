"""Ids, names and other small values of the wire format."""

import random
from uuid import UUID

import pytest

from ojs_wire import codes
from ojs_wire.values import (
    JOB_TYPE,
    MAX_NAME,
    MAX_TIME,
    QUEUE,
    UUID7,
    RisingIds,
    kind_of,
    position_of,
    position_uuid,
    uuid7,
)


def test_uuid7_carries_its_moment_and_its_random_bits() -> None:
    source = random.Random(1)
    made = {uuid7(1_700_000_000_123, source.getrandbits) for _ in range(500)}
    assert len(made) == 500
    for text in made:
        assert UUID7.fullmatch(text)
        assert UUID(text).version == 7
        assert UUID(text).int >> 80 == 1_700_000_000_123


@pytest.mark.parametrize("bits", [0, 2**74 - 1, 2**62, 2**62 - 1])
def test_uuid7_is_well_formed_at_the_edges_of_its_randomness(bits: int) -> None:
    text = uuid7(MAX_TIME, lambda count: bits)
    assert UUID7.fullmatch(text)
    number = UUID(text).int
    assert (number >> 64 & 0xFFF) << 62 | number & 2**62 - 1 == bits


def test_uuid7_sorts_by_moment() -> None:
    assert uuid7(1, lambda count: 2**74 - 1) < uuid7(2, lambda count: 0)


@pytest.mark.parametrize("steps", ["random", "least", "most"])
def test_ids_of_one_millisecond_rise(steps: str) -> None:
    source = random.Random(1)
    bits = {"random": source.getrandbits, "least": lambda count: 0, "most": lambda n: 2**n - 1}
    make = RisingIds(bits[steps])
    made = [make(moment) for moment in (5, 5, 5, 6, 6) for _ in range(1000)]
    assert made == sorted(made)
    assert len(set(made)) == 5000
    assert {UUID(text).int >> 80 for text in made} == {5, 6}


@pytest.mark.parametrize("steps", ["random", "least", "most"])
def test_many_ids_rise_as_single_ones_do(steps: str) -> None:
    source = random.Random(1)
    bits = {"random": source.getrandbits, "least": lambda count: 0, "most": lambda n: 2**n - 1}
    make = RisingIds(bits[steps])
    made = [one for moment in (5, 5, 6) for one in (make(moment), *make.many(moment, 1000))]
    assert made == sorted(made)
    assert len(set(made)) == 3003
    assert all(map(UUID7.fullmatch, made))
    assert {UUID(text).int >> 80 for text in made} == {5, 6}
    assert make.many(6, 0) == make.many(7, 0) == []


def test_many_ids_find_room_where_a_millisecond_is_nearly_full() -> None:
    # The last part begins at its end, so that the first step leaves it.
    make = RisingIds(lambda count: 2**count - 1)
    made = [make(5), *make.many(5, 3), *make.many(5, 3)]
    assert made == sorted(made)
    assert len({text[:-12] for text in made}) > 1


def test_ids_follow_a_clock_that_is_put_back() -> None:
    make = RisingIds(lambda count: 0)
    assert [UUID(make(moment)).int >> 80 for moment in (6, 5, 6)] == [6, 5, 6]


@pytest.mark.parametrize(
    "position", [0, 1, 2**18, 2**62 - 1, 2**62, 2**63 - 1, 2**64 - 1, 1_700_000_000_123 << 18 | 7]
)
def test_a_position_returns_from_its_id(position: int) -> None:
    text = position_uuid(1_700_000_000_123, position)
    assert UUID7.fullmatch(text)
    assert position_of(text) == position


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0190a0f0-0000-7000-8000-00000000000",
        "0190A0F0-0000-7000-8000-000000000000",
        "0190a0f0-0000-4000-8000-000000000000",
        "0190a0f0-0000-7000-7000-000000000000",
        "0190a0f00000-7000-8000-000000000000",
        "0190a0f0-0000-7000-8000-000000000000\n",
        "0190a0f0-0000-7000-8000-00000000000\uff10",
    ],
)
def test_other_spellings_are_no_job_id(text: str) -> None:
    assert not UUID7.fullmatch(text)


@pytest.mark.parametrize("name", ["a", "0", "a.b", "a-b_c.d9", "a..b", "a" * MAX_NAME])
def test_queue_names(name: str) -> None:
    assert QUEUE.fullmatch(name)


@pytest.mark.parametrize(
    "name", ["", "A", "a.", "a-", "a_", ".a", "-a", "a b", "a/b", "é", "a\n", "a" * (MAX_NAME + 1)]
)
def test_names_that_are_no_queue(name: str) -> None:
    assert not QUEUE.fullmatch(name)


@pytest.mark.parametrize("name", ["a", "email.send", "a-b_c.d9"])
def test_job_types(name: str) -> None:
    assert JOB_TYPE.fullmatch(name)


@pytest.mark.parametrize("name", ["", "Email", "1a", "a.", ".a", "a..b", "a.1", "a b", "a\n"])
def test_names_that_are_no_job_type(name: str) -> None:
    assert not JOB_TYPE.fullmatch(name)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "a number"),
        (1.5, "a number"),
        ("", "a string"),
        ([], "an array"),
        ({}, "an object"),
    ],
)
def test_kinds_have_their_json_names(value: object, name: str) -> None:
    assert kind_of(value) == name


def test_every_code_has_a_status_that_fits_its_advice() -> None:
    assert len(codes.ALL) > 10
    names = [code.name for code in codes.ALL]
    assert len(set(names)) == len(names)
    for code in codes.ALL:
        assert 400 <= code.status < 600
        assert code.type
        # Repeating a request that is wrong in itself never helps.
        assert not (code.retryable and code.status in (400, 401, 403, 404, 405, 409, 413, 422))
