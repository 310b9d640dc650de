"""The one JSON encoder and decoder of the project, and the checks a JSON text must pass first."""

from typing import Any, Final

import msgspec

MAX_DEPTH: Final = 64
MAX_INTEGER: Final = 2**64 - 1
MIN_INTEGER: Final = -(2**63)

_encoder = msgspec.json.Encoder()
_canonical = msgspec.json.Encoder(order="sorted")
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()

encode = _encoder.encode


class MalformedJSON(ValueError):
    """The text is not JSON that OJS can carry; the message says what is wrong."""


def canonical(value: object) -> bytes:
    """Encode with sorted keys, so that equal values give equal bytes."""
    return _canonical.encode(value)


def decode(body: bytes) -> Any:
    """Decode a JSON text, refusing whatever another reader could not read back.

    Invalid UTF-8, NaN, numbers beyond a double or 64 bits, and nesting deeper than
    ``MAX_DEPTH`` are refused here, because every stored value passes through this function.
    """
    try:
        value = _decoder.decode(body)
    except RecursionError:
        raise MalformedJSON(f"nested deeper than {MAX_DEPTH} levels") from None
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise MalformedJSON(str(error)) from None
    # Counting brackets is cheap and settles nearly every body without walking it.
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise MalformedJSON(f"nested deeper than {MAX_DEPTH} levels")
    if _has_long_digits(body) and not _integers_fit(value):
        raise MalformedJSON("an integer is beyond 64 bits; send it as a string")
    return value


def _has_long_digits(body: bytes) -> bool:
    # Only a text with a run of 19 digits can hold an integer that does not fit; translate()
    # turns every digit into "0" so that one substring search finds such a run.
    return len(body) >= 19 and b"0" * 19 in body.translate(_DIGITS)


_DIGITS: Final = bytes(0x30 if 0x30 <= byte <= 0x39 else byte for byte in range(256))


def _depth(value: Any) -> int:
    deepest = 0
    stack = [(value, 1)]
    while stack:
        node, level = stack.pop()
        if isinstance(node, dict):
            children = list(node.values())
        elif isinstance(node, list):
            children = node
        else:
            continue
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in children)
    return deepest


def _integers_fit(value: Any) -> bool:
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, int) and not MIN_INTEGER <= node <= MAX_INTEGER:
            return False
    return True
