"""Bytes that break what is around a body: lines, headers, lengths, chunks and frames."""

import random
import string
from typing import Final

METHODS: Final = (
    *(b"GET", b"get", b"POST", b"BREW", b"CONNECT", b"OPTIONS", b"PRI", b"G\0T", b"HEAD", b""),
    b"A" * 5_000,
)
TARGETS: Final = (
    *(b"*", b"/", b"//", b"", b"http://127.0.0.1/ojs/v1/health", b"http://[", b"host:80", b"/%"),
    *(b"/?", b"/ojs/v1/jobs?" + b"&" * 3_000, b"/ojs/v1/jobs?limit=1&limit=2", b"/\\"),
    *(b"/ojs/v1/jobs?%=%&\xff=\xff", b"/" + b"a/" * 4_000, b"/ojs/v1/../v1/health"),
    *(b"/ojs/v1/health#x", b"/ojs/v1/jobs?cursor=%00", b"/ojs/v1/events?after=\xf0\x9f\x92\xa9"),
)
VERSIONS: Final = (
    *(b"HTTP/1.1", b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.1 x", b"HTTP/9", b"", b"http"),
)
# `@` stands for any byte.
HEADERS: Final = (
    *(b"Host: other", b"Authorization: Bearer a\r\nAuthorization: Bearer b", b"X@: y", b"X: y@"),
    *(b": y", b"X", b" folded", b"X: y\r\n folded", b"X : y", b"X: " + b"y" * 70_000),
    *(b"\r\n".join([b"X: y"] * 2_000), b"Content-Length: 5", b"Content-Length: -1"),
    *(b"Content-Length: " + b"9" * 30, b"Content-Length: 1, 1", b"Content-Length: 0x5"),
    *(b"Content-Length: 5@", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip"),
    *(b"Expect: 100-continue", b"Expect: nonsense", b"Upgrade: h2c", b"Content-Encoding: gzip"),
    *(b"Upgrade: websocket\r\nConnection: Upgrade", b"Content-Encoding: @", b"Connection: @"),
    *(b"Content-Type: text/plain", b"Content-Type: application/json; charset=utf-16"),
    *(b"Content-Type: @/@", b"Accept: " + b"*/*," * 2_000, b"Accept: @", b"OJS-Version: 99"),
    *(b"X-Request-Id: " + b"@" * 300, b"Idempotency-Key: " + b"@" * 257, b"Origin: null"),
    *(b"Origin: http://evil", b"If-None-Match: @", b"Last-Event-ID: @@@@", b"X-OJS-Tenant: @@"),
    *(b"traceparent: " + b"@" * 60, b"Range: bytes=0-", b"Cookie: @=@", b"Forwarded: for=@"),
)
# `%x` stands for the true size of the chunk, `%y` for one more.
SIZES: Final = (
    *(b"%x", b"0%x", b"%x;a=b", b"%x;" + b"a" * 9_000, b"-1", b"", b"g", b" %x", b"%x ", b"%y"),
    *(b"f" * 17, b"0x%x", b"1", b"%x\n", b"%x\0", b"%x, %x"),
)
ENDS: Final = (
    *(b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"0\r\n", b"", b"0;x\r\n\r\n", b"00\r\n\r\n", b"0\n\n"),
    b"0\r\n" + b"X: y\r\n" * 2_000 + b"\r\n",
)
CODINGS: Final = (b"chunked", b"Chunked", b"chunked, chunked", b"identity", b"gzip, chunked", b"x")
BEGINNINGS: Final = (
    *(b"\x16\x03\x01\x02\0\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\r\n\r\n", b"\0" * 50),
    *(b"SSH-2.0-x\r\n", b"", b"GET /ojs/v1/health\r\n"),
)
_OPCODES: Final = (1, 1, 1, 2, 8, 9, 10, 0, 3, 0x41)


def noise(luck: random.Random, length: int) -> bytes:
    """Any bytes, or any that can be printed."""
    if luck.random() < 0.5:
        return luck.randbytes(length)
    return "".join(luck.choices(string.printable, k=length)).encode()


def frame(luck: random.Random, text: bytes) -> bytes:
    """A WebSocket frame as a client masks it, with any opcode."""
    mask, size = luck.randbytes(4), len(text)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 65_536:
        length = b"\xfe" + size.to_bytes(2)
    else:
        length = b"\xff" + size.to_bytes(8)
    masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(text))
    return bytes([0x80 | luck.choice(_OPCODES)]) + length + mask + masked
