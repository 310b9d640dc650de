"""Compression of arguments before they are encrypted: `zstd/plain` and `gzip/plain`."""

import gzip
import sys
import zlib
from typing import Final, Literal, Protocol

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    try:
        from backports import zstd
    except ImportError as missing:
        raise ImportError(
            "compression needs the package backports.zstd: pip install 'ojs-reference[encryption]'"
        ) from missing

Compression = Literal["zstd", "gzip"]

ZSTD: Final = "zstd/plain"
GZIP: Final = "gzip/plain"
# Smaller arguments are not worth compressing.
SHORT: Final = 1024
# Limit of the decompressed size, because a few bytes can expand to very many.
MAX_PLAIN: Final = 64 * 1024 * 1024


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def compressed(plain: bytes, how: Compression) -> tuple[bytes, str] | None:
    """Return compressed bytes and the name of their encoding; None if they would not be smaller, or
    too large to decompress.

    Equal bytes give equal results.
    """
    if not SHORT < len(plain) <= MAX_PLAIN:
        return None
    if how == "zstd":
        packed, name = zstd.compress(plain), ZSTD
    else:
        packed, name = gzip.compress(plain, mtime=0), GZIP
    return (packed, name) if len(packed) < len(plain) else None


def from_zstd(packed: bytes) -> bytes:
    """Decompress `zstd/plain`; raises `ValueError`."""
    try:
        return _bounded(zstd.ZstdDecompressor(), packed)
    except zstd.ZstdError as error:
        raise ValueError(f"they are no zstd ({error})") from error


def from_gzip(packed: bytes) -> bytes:
    """Decompress `gzip/plain`; raises `ValueError`."""
    try:
        return _bounded(zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), packed)
    except zlib.error as error:
        raise ValueError(f"they are no gzip ({error})") from error


def _bounded(unpacker: _Unpacker, packed: bytes) -> bytes:
    plain = unpacker.decompress(packed, MAX_PLAIN + 1)
    if len(plain) > MAX_PLAIN:
        raise ValueError(f"they would become more than {MAX_PLAIN} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("they are cut short, or something stands behind them")
    return plain
