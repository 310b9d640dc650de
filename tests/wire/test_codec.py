"""The JSON decoder refuses input that another parser could not read back."""

import msgspec
import pytest

from ojs_wire import codec
from ojs_wire.codec import MAX_DEPTH, MAX_INTEGER, MIN_INTEGER, MalformedJSON


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"[1,]",
        b'{"a":1,}',
        b"{a:1}",
        b"'a'",
        b"01",
        b"1.",
        b"+1",
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"[NaN]",
        b"1e999",
        b"-1e999",
        b'{"a":[1e400]}',
        b'{"a":1}{"b":2}',
        b"\xef\xbb\xbf{}",
        b'"\xff"',
        b'{"\xc3\x28":1}',
        b'"\xed\xa0\x80"',
        b'"\\ud800"',
        b'"\\ud800abcdefgh"',
        b'"\\udc00abcdefgh"',
        b'{"\\ud800\\ud800":1}',
        b'"\x01"',
        b'"\n"',
        b"1" * 5000,
    ],
)
def test_text_that_is_not_interchangeable_json_is_refused(text: bytes) -> None:
    with pytest.raises(MalformedJSON) as refused:
        codec.decode(text)
    assert str(refused.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"null", None),
        (b"0", 0),
        (b"-0.0", -0.0),
        (b"1e308", 1e308),
        (b"1e-999", 0.0),
        (b'"\\u0000"', "\0"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b' {"a" : [ ] } ', {"a": []}),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b"0.12345678901234567890", 0.12345678901234568),
        (b"[1, 12345678901234567890]", [1, 12345678901234567890]),
    ],
)
def test_values_that_every_reader_knows_are_read(text: bytes, value: object) -> None:
    assert codec.decode(text) == value


@pytest.mark.parametrize("number", [MAX_INTEGER, MIN_INTEGER, 2**53, -(2**53)])
def test_integers_of_64_bits_survive_the_way_through(number: int) -> None:
    text = str(number).encode()
    assert codec.encode(codec.decode(text)) == text


@pytest.mark.parametrize("number", [MAX_INTEGER + 1, MIN_INTEGER - 1, 10**30])
@pytest.mark.parametrize("around", [b"%d", b"[[%d]]", b'{"a":{"b":%d}}'])
def test_integers_beyond_64_bits_are_refused_with_advice(number: int, around: bytes) -> None:
    with pytest.raises(MalformedJSON, match="send it as a string"):
        codec.decode(around % number)


@pytest.mark.parametrize("before", range(12))
@pytest.mark.parametrize("number", [MAX_INTEGER + 1, MIN_INTEGER - 1])
def test_integers_beyond_64_bits_are_found_wherever_they_stand(before: int, number: int) -> None:
    with pytest.raises(MalformedJSON, match="send it as a string"):
        codec.decode(b"%b[1, %d, 2]" % (b" " * before, number))


def test_long_digits_inside_text_are_no_integer() -> None:
    digits = "9" * 40
    assert codec.decode(f'["{digits}", 1.{digits}]'.encode()) == [digits, float(f"1.{digits}")]


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_nesting_is_bounded(opening: bytes, closing: bytes) -> None:
    deepest = opening * MAX_DEPTH + b"1" + closing * MAX_DEPTH
    assert codec.encode(codec.decode(deepest)) == deepest
    for levels in (MAX_DEPTH + 1, 500, 200_000):
        with pytest.raises(MalformedJSON, match=f"deeper than {MAX_DEPTH}"):
            codec.decode(opening * levels + b"1" + closing * levels)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert codec.decode(b"[" + b"[]," * 500 + b'"[[[["]') == [[]] * 500 + ["[[[["]
    flat = b"[" + b"{}," * MAX_DEPTH + b"1]"
    assert len(codec.decode(flat)) == MAX_DEPTH + 1


def test_canonical_form_ignores_key_order_at_every_level() -> None:
    one = codec.decode(b'{"b":{"y":1,"x":[2,1]},"a":0}')
    other = codec.decode(b'{ "a":0, "b":{"x":[2,1],"y":1} }')
    assert codec.canonical(one) == codec.canonical(other)
    assert codec.canonical([2, 1]) != codec.canonical([1, 2])


class Anything(msgspec.Struct):
    kept: object
    brackets: list[list[object]] = []


TYPED = msgspec.json.Decoder(Anything)


def test_a_typed_decoder_takes_what_decode_takes() -> None:
    deep = b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1)
    wide = b"[" + b",".join([b'{"a":[]}'] * 500) + b"]"
    in_a_string = b'"' + b"[" * 500 + b'"'
    for value in (deep, wide, in_a_string, b"18446744073709551615", b'"' + b"9" * 30 + b'"'):
        assert codec.decode_as(b'{"kept":' + value + b"}", TYPED).kept == codec.decode(value)


@pytest.mark.parametrize(
    "value",
    [
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b'[{"a":' * 40 + b"1" + b"}]" * 40,
        b"[" * 100_000,
        b"18446744073709551616",
        b"1e999",
        b'"\\ud800"',
        b'"\xff"',
        b"",
    ],
)
def test_a_typed_decoder_refuses_what_decode_refuses(value: bytes) -> None:
    text = b'{"kept":' + value + b"}"
    with pytest.raises(MalformedJSON):
        codec.decode(text)
    with pytest.raises(MalformedJSON):
        codec.decode_as(text, TYPED)


def test_what_is_json_of_another_type_is_told_apart() -> None:
    with pytest.raises(msgspec.ValidationError, match="kept"):
        codec.decode_as(b"{}", TYPED)
