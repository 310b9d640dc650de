"""Encode columns as PostgreSQL arrays in binary form.

A statement takes a whole batch as one array per column. Packed here, an array has a declared
type whatever it holds (one prepared statement per purpose), at half the cost of the driver's.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import chain, repeat
from struct import Struct
from typing import Any, Final

import msgspec
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
# Largest length whose struct format is cached; a format takes as much memory as its numbers.
_AT_ONCE: Final = 128


Packer = Callable[[Sequence[Any]], bytes]


def _packer(element_oid: int, pack: Packer) -> Packer:
    """Packs the elements of a column, and its head with them."""

    @lru_cache(maxsize=_AT_ONCE)
    def head(count: int) -> bytes:
        return _HEAD(1, 1, element_oid, count, 1)

    @lru_cache(maxsize=_AT_ONCE)
    def nulls(count: int) -> bytes:
        return head(count) + _NULL * count

    def packed(column: Sequence[Any]) -> bytes:
        if not column:
            return _EMPTY(0, 0, element_oid)
        count, first = len(column), column[0]
        # Most columns of most batches are empty, or say the same of each job.
        if column.count(first) == count:
            return nulls(count) if first is None else head(count) + pack((first,)) * count
        if None in column:
            return head(count) + b"".join(
                [_NULL if value is None else pack((value,)) for value in column]
            )
        return head(count) + pack(column)

    return packed


def _texts(column: Sequence[str]) -> bytes:
    return _blobs(list(map(str.encode, column)))


def _blobs(column: Sequence[bytes]) -> bytes:
    return b"".join(chain.from_iterable(zip(map(_LENGTH, map(len, column)), column, strict=True)))


def _numbers(code: str) -> Packer:
    @cache
    def struct_of(count: int) -> Callable[..., bytes]:
        return Struct(f">{f'i{code}' * count}").pack

    def packed(column: Sequence[Any]) -> bytes:
        count = len(column)
        if count <= _AT_ONCE:
            return struct_of(count)(*chain.from_iterable(zip(repeat(8), column)))
        parts = range(0, count, _AT_ONCE)
        return b"".join([packed(column[start : start + _AT_ONCE]) for start in parts])

    return packed


def _bools(column: Sequence[bool]) -> bytes:
    return b"".join([_TRUE if flag else _FALSE for flag in column])


class Array(msgspec.Struct, frozen=True):
    """A packed column for the driver's own statements, which must know its type."""

    packed: bytes


class TextArray(Array, frozen=True):
    """`text[]`."""


class Int8Array(Array, frozen=True):
    """`bigint[]`."""


class Float8Array(Array, frozen=True):
    """`double precision[]`."""


class ByteaArray(Array, frozen=True):
    """`bytea[]`."""


class BoolArray(Array, frozen=True):
    """`boolean[]`."""


class ArrayType(msgspec.Struct, frozen=True):
    """The encoding of a column type, and its types for the driver."""

    pack: Packer
    array: type[Array]
    oid: int


TYPES: Final = {
    "text": ArrayType(_packer(25, _texts), TextArray, 1009),
    "int8": ArrayType(_packer(20, _numbers("q")), Int8Array, 1016),
    "float8": ArrayType(_packer(701, _numbers("d")), Float8Array, 1022),
    "bytea": ArrayType(_packer(17, _blobs), ByteaArray, 1001),
    "bool": ArrayType(_packer(16, _bools), BoolArray, 1000),
}
texts: Final = TYPES["text"].pack
numbers: Final = TYPES["int8"].pack


def register(context: AdaptContext) -> None:
    """Teach a connection to send packed arrays."""
    for array, dumper in _DUMPERS.items():
        context.adapters.register_dumper(array, dumper)


def _dumper(array_oid: int) -> type[Dumper]:
    class PackedDumper(Dumper):
        format = pq.Format.BINARY
        oid = array_oid

        def dump(self, obj: Any) -> bytes:
            packed: bytes = obj.packed
            return packed

    return PackedDumper


_DUMPERS: Final = {kind.array: _dumper(kind.oid) for kind in TYPES.values()}
