"""The project's only JSON encoder and decoder, and the checks before JSON text is parsed."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec

MAX_DEPTH: Final = 64
MAX_INTEGER: Final = 2**64 - 1
MIN_INTEGER: Final = -(2**63)

_encoder = msgspec.json.Encoder()
_canonical = msgspec.json.Encoder(order="sorted")
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()

encode = _encoder.encode

Typed = TypeVar("Typed")

# JSON text, stored and passed on unchanged.
Json: TypeAlias = Annotated[bytes, "JSON"]


class MalformedJSON(ValueError):
    """The text is not JSON that OJS can carry; the message tells why."""


def texts(values: Sequence[object]) -> list[bytes]:
    """Return the JSON text of each value, in one call; none contains a line break."""
    return _encoder.encode_lines(values).split(b"\n")[:-1]


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
    # These checks of brackets and digits are cheap, and nearly no body needs the full walk.
    if len(body) > _FLAT and _may_be_deep(body) and _depth(value) > MAX_DEPTH:
        raise MalformedJSON(f"nested deeper than {MAX_DEPTH} levels")
    if _has_long_digits(body) and not _integers_fit(value):
        raise MalformedJSON("an integer is beyond 64 bits; send it as a string")
    return value


def decode_as(body: bytes, decoder: msgspec.json.Decoder[Typed]) -> Typed:
    """Decode a JSON text directly into its type, with the checks of `decode` for the parts that are
    kept.

    A ValidationError says that it is JSON, but not of the type.
    """
    if _may_be_deep(body) or _has_long_digits(body):
        decode(body)
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        decode(body)  # report a number out of range as malformed JSON
        raise
    except RecursionError:
        raise MalformedJSON(f"nested deeper than {MAX_DEPTH} levels") from None
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise MalformedJSON(str(error)) from None


def holds(text: bytes, part: bytes) -> bool:
    """True if bytes contain others; faster than `in`, which first tries them as a number."""
    return text.find(part) >= 0


# Longest text that cannot be nested too deep.
_FLAT: Final = 2 * MAX_DEPTH


def _may_be_deep(body: bytes) -> bool:
    """True if a text could be nested too deep; brackets inside strings count as well."""
    if len(body) <= _FLAT:
        return False
    brackets = body.translate(None, _NO_BRACKETS)
    if len(brackets) <= _FLAT:
        return False
    # Each round removes at least the innermost level, and two at most.
    for _ in range(MAX_DEPTH // 2):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not brackets:
            return False
    return True


_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")


def _has_long_digits(body: bytes) -> bool:
    # Only a text with a run of 19 digits can hold an integer that does not fit; translate() turns
    # every digit into "0" so that one substring search finds such a run. Of each run of 19 every
    # sixth character, which few texts have to look beyond, is at least three.
    # As `holds`, without its calls.
    if body[::6].translate(_DIGITS).find(b"000") < 0:
        return False
    return body.translate(_DIGITS).find(b"0" * 19) >= 0


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
