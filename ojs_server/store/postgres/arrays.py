"""Columns as PostgreSQL arrays in binary form.

A statement takes a whole batch as one array per column. Packed here, an array has a declared
type whatever it holds (one prepared statement per purpose), at half the cost of the driver's.
"""

from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import Any, Final

from psycopg import pq
from psycopg.abc import AdaptContext
from psycopg.adapt import Dumper

_NULL: Final = b"\xff\xff\xff\xff"
# Dimensions, whether there are NULLs, the element's type; then length and lower bound of each.
_EMPTY: Final = Struct(">iiI").pack
_HEAD: Final = Struct(">iiIii").pack
_LENGTH: Final = Struct(">i").pack
_INT8: Final = Struct(">iq").pack
_FLOAT8: Final = Struct(">id").pack


class Array:
    """One packed array of a PostgreSQL type."""

    element_oid: int

    def __init__(self, items: Sequence[bytes]) -> None:
        oid, count = self.element_oid, len(items)
        head = _HEAD(1, 1, oid, count, 1) if items else _EMPTY(0, 0, oid)
        self.packed = head + b"".join(items)


class TextArray(Array):
    """`text[]`."""

    element_oid = 25


class Int8Array(Array):
    """`bigint[]`."""

    element_oid = 20


class Float8Array(Array):
    """`double precision[]`."""

    element_oid = 701


class ByteaArray(Array):
    """`bytea[]`."""

    element_oid = 17


class BoolArray(Array):
    """`boolean[]`."""

    element_oid = 16


ARRAY_OIDS: Final = {
    TextArray: 1009,
    Int8Array: 1016,
    Float8Array: 1022,
    ByteaArray: 1001,
    BoolArray: 1000,
}


def texts(values: Iterable[str | None]) -> TextArray:
    """A column of text."""
    return TextArray([_NULL if v is None else _LENGTH(len(b := v.encode())) + b for v in values])


def ints(values: Iterable[int | None]) -> Int8Array:
    """A column of whole numbers."""
    return Int8Array([_NULL if v is None else _INT8(8, v) for v in values])


def floats(values: Iterable[float | None]) -> Float8Array:
    """A column of numbers."""
    return Float8Array([_NULL if v is None else _FLOAT8(8, v) for v in values])


def blobs(values: Iterable[bytes | None]) -> ByteaArray:
    """A column of bytes."""
    return ByteaArray([_NULL if v is None else _LENGTH(len(v)) + v for v in values])


def bools(values: Iterable[bool]) -> BoolArray:
    """A column of truth."""
    return BoolArray([b"\0\0\0\1\1" if v else b"\0\0\0\1\0" for v in values])


PACKERS: Final[dict[str, Callable[[Iterable[Any]], Array]]] = {
    "text": texts,
    "int8": ints,
    "float8": floats,
    "bytea": blobs,
    "bool": bools,
}


def register(context: AdaptContext) -> None:
    """Teach a connection to send packed arrays."""
    for kind, dumper in _DUMPERS.items():
        context.adapters.register_dumper(kind, dumper)


def _dumper(array_oid: int) -> type[Dumper]:
    class PackedDumper(Dumper):
        format = pq.Format.BINARY
        oid = array_oid

        def dump(self, obj: Any) -> bytes:
            packed: bytes = obj.packed
            return packed

    return PackedDumper


_DUMPERS: Final = {kind: _dumper(oid) for kind, oid in ARRAY_OIDS.items()}
