"""Values that a server has to bear in any place of a body, as the bytes that are sent."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec


class Raw(msgspec.Struct, frozen=True):
    """A value that is written as it is, JSON or not."""

    text: bytes


def _deep(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


VALUES: Final = tuple(
    Raw(text)
    for text in (
        *(b"null", b"true", b"false", b"0", b"-0", b"-1", b"1", b"1.0", b"1.5", b"1e2", b"1e-400"),
        *(b"2147483648", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809"),
        *(b"18446744073709551616", b"1e308", b"1e309", b"1e999", b"9" * 400, b"0." + b"1" * 400),
        *(b"NaN", b"Infinity", b"-", b"01", b"+1", b"0x10", b".5", b"1."),
        *(b'""', b'" "', b'"0"', b'"null"', b'"\\u0000"', b'"a\\u0000b"', b'"\\ud800"'),
        *(b'"\\udc00\\ud800"', b'"\\x"', b'"\xff\xfe"', b'"\xed\xa0\x80"', b'"\xc0\x80"'),
        *(b'"\x00"', b'"\n"', b'"\xef\xbb\xbf"', b'"\xe2\x80\xae\xcc\x81"'),
        *(b'"' + b"x" * 256 + b'"', b'"' + b"x" * 70_000 + b'"', b'"' + b"\xc3\xbc" * 300 + b'"'),
        *(b"[]", b"{}", b"[[]]", b"[null]", b"[0]", b'[""]', b"[{}]", b'{"":{}}', b'{"a":[{}]}'),
        *(b'{"a":1,"a":[]}', b'{"\\u0000":1}', b'{"\\ud800":1}', b'{"$ref":"#"}', b'{"id":null}'),
        *(_deep(64), _deep(1_000), _deep(20_000), b'{"a":' * 500 + b"1" + b"}" * 500),
        *(b"[" + b"0," * 5_000 + b"0]", b"[1,]", b"[1 2]", b'{"a"}', b"{a:1}", b"'a'", b"/**/1"),
        *(b'"2030-13-45T99:99:99Z"', b'"2030-01-31T09:00:00"', b'"9999-12-31T23:59:60Z"'),
        *(b'"0001-01-01T00:00:00+23:59"', b'"+PT1H"', b'"PT99999999999999999H"', b'"-P1D"'),
        *(b'"P"', b'"1e400s"', b'"99999999999999999999d"', b'"\xd9\xa1s"', b'"* * * * * * *"'),
        *(b'"@every 0s"', b'"0 0 31 2 *"', b'"*/0 * * * *"', b'"(a+)+$"', b'"("', b'"[[:a:]]"'),
        *(b'"http://[::1"', b'"https://\\u0000/"', b'"https://a:0/"', b'"//"', b'"../../etc"'),
        *(b'"%00"', b'"; DROP TABLE jobs"', b'"%s%n{}"', b'"active,,available"', b'"."', b'"a..b"'),
    )
)


def written(value: Any) -> bytes:
    """A body as JSON, but for its raw values."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, Mapping):
        members = (msgspec.json.encode(name) + b":" + written(v) for name, v in value.items())
        return b"{" + b",".join(members) + b"}"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return b"[" + b",".join(map(written, value)) + b"]"
    return msgspec.json.encode(value)


def planted(body: Any, place: Sequence[str], value: Raw) -> Any:
    """Return the body with a value in one place; missing parents are made."""
    if not place:
        return value
    name, *rest = place
    if name == EACH:
        first, *others = body if isinstance(body, list) and body else [None]
        return [planted(first, rest, value), *others]
    members = dict(body) if isinstance(body, Mapping) else {}
    members[name] = planted(members.get(name), rest, value)
    return members


# The step from an array to its items.
EACH: Final = "[]"
