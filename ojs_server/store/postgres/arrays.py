"""Columns as PostgreSQL arrays in binary form.

A statement takes a whole batch as one array per column. Packed here, an array has a declared
type whatever it holds (one prepared statement per purpose), at half the cost of the driver's.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, repeat
from struct import Struct
from typing import Any, Final

from psycopg import pq
from psycopg.abc import AdaptContext
from psycopg.adapt import Dumper

_NULL: Final = b"\xff\xff\xff\xff"
_TRUE: Final = b"\0\0\0\1\1"
_FALSE: Final = b"\0\0\0\1\0"
# Dimensions, whether there are NULLs, the element's type; then length and lower bound of each.
_EMPTY: Final = Struct(">iiI").pack
_HEAD: Final = Struct(">iiIii").pack
_LENGTH: Final = Struct(">i").pack


class Array:
    """One packed array of a PostgreSQL type."""

    element_oid: int

    def __init__(self, count: int, items: bytes) -> None:
        oid = self.element_oid
        self.packed = (_HEAD(1, 1, oid, count, 1) if count else _EMPTY(0, 0, oid)) + items


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


def texts(values: Iterable[str | None]) -> Array:
    """A column of text."""
    return _column(TextArray, values, lambda column: _blobs(list(map(str.encode, column))))


def ints(values: Iterable[int | None]) -> Array:
    """A column of whole numbers."""
    return _column(Int8Array, values, lambda column: _numbers("q", column))


def floats(values: Iterable[float | None]) -> Array:
    """A column of numbers."""
    return _column(Float8Array, values, lambda column: _numbers("d", column))


def blobs(values: Iterable[bytes | None]) -> Array:
    """A column of bytes."""
    return _column(ByteaArray, values, _blobs)


def bools(values: Iterable[bool]) -> Array:
    """A column of truth."""
    return _column(
        BoolArray, values, lambda column: b"".join(_TRUE if v else _FALSE for v in column)
    )


def _column(
    kind: type[Array], values: Iterable[Any], pack: Callable[[Sequence[Any]], bytes]
) -> Array:
    """Most columns of most batches are empty, and most others full: both are packed at once."""
    column = tuple(values)
    count, empty = len(column), column.count(None)
    if empty == count:
        return kind(count, _NULL * count)
    if not empty:
        return kind(count, pack(column))
    return kind(count, b"".join(_NULL if v is None else pack((v,)) for v in column))


def _blobs(column: Sequence[bytes]) -> bytes:
    return b"".join(chain.from_iterable(zip(map(_LENGTH, map(len, column)), column, strict=True)))


def _numbers(code: str, column: Sequence[float]) -> bytes:
    return _numbers_of(code, len(column))(*chain.from_iterable(zip(repeat(8), column)))


@lru_cache(maxsize=1024)
def _numbers_of(code: str, count: int) -> Callable[..., bytes]:
    return Struct(f">{f'i{code}' * count}").pack


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
