"""Raw requests: shot N of a seed is always the same, whatever was sent before.

Every other shot puts the next hostile value into the next place of the contract, so that all
places have had all values in the end. The others break what is around: lines, headers, lengths,
chunks, paths, the order of things.
"""

import random
import string
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from tests.fuzz.operations import Place, is_endless, places
from tests.fuzz.values import VALUES, Raw, planted, written
from tests.openapi.operations import OPERATIONS, Operation

_TYPES: Final = (b"application/json", b"application/openjobspec+json")
# Heads are latin-1 on the wire.
Head = list[tuple[bytes, bytes]]


class Shot(msgspec.Struct, frozen=True):
    """What is sent on one connection.

    `methods` are those of its requests where all of them are whole, so that each has an answer;
    otherwise the client hangs up behind its data, and the server has to end the connection.
    """

    kind: str
    pieces: Sequence[bytes]
    methods: Sequence[str] = ()
    endless: bool = False

    @property
    def data(self) -> bytes:
        """All of it."""
        return b"".join(self.pieces)


class Shooter:
    """Makes the shots of one seed."""

    def __init__(self, seed: int, host: str) -> None:
        self._seed = seed
        self._host = host.encode()
        self.places: Final = places()
        random.Random(seed).shuffle(self.places)

    def shot(self, number: int) -> Shot:
        """One of them."""
        luck = random.Random(f"{self._seed}:{number}")
        turn, odd = divmod(number, 2)
        if not odd:
            round_, index = divmod(turn, len(self.places))
            value = VALUES[(round_ * 7 + index + self._seed) % len(VALUES)]
            return self._at(self.places[index], value, luck)
        return luck.choice(_KINDS)(self, luck)

    def _at(self, place: Place, value: Raw, luck: random.Random) -> Shot:
        operation = place.operation
        target, query, headers = operation.example()
        body = _body(operation, luck)
        content: bytes | None = None if body is None else written(body)
        if place.kind == "body":
            content = written(planted(body, place.path, value))
        elif place.kind == "query":
            query = {**query, place.path[0]: quote(value.text.strip(b'"'))}
        elif place.kind == "header":
            text = bytes(byte for byte in value.text if byte not in b"\r\n\0")
            headers = {**headers, place.path[0]: text.decode("latin-1")[:4_000]}
        else:
            raw = operation.path.replace(f"{{{place.path[0]}}}", quote(value.text.strip(b'"'), ""))
            target = raw if "{" not in raw else target
        line = target + ("?" + "&".join(f"{k}={v}" for k, v in query.items()) if query else "")
        request = self._request(operation.method, line[:60_000].encode(), headers, content, luck)
        kind = f"{place.kind} {'.'.join(place.path)} of {operation.id}"
        return Shot(kind, [request], [operation.method], is_endless(operation))

    def _request(
        self,
        method: str,
        target: bytes,
        headers: dict[str, str],
        content: bytes | None,
        luck: random.Random,
        more: Head | None = None,
        close: bool = True,
    ) -> bytes:
        head: Head = [(b"Host", self._host)]
        head += [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        if content is not None:
            head += [(b"Content-Type", luck.choice(_TYPES)), (b"Content-Length", b"%d" % len(content))]
        if close:
            head.append((b"Connection", b"close"))
        return _lines(method.encode(), target, head + (more or [])) + (content or b"")

    def _whole(self, luck: random.Random, *, close: bool) -> tuple[bytes, str]:
        """A request as the contract has it, and its method."""
        operation = luck.choice(_PLAIN)
        target, query, headers = operation.example()
        body = _body(operation, luck)
        line = target + ("?" + "&".join(f"{k}={quote(v)}" for k, v in query.items()) if query else "")
        content = None if body is None else written(body)
        made = self._request(operation.method, line.encode(), headers, content, luck, close=close)
        return made, operation.method

    # ------------------------------------------------------------------ kinds of shots

    def path_bytes(self, luck: random.Random) -> Shot:
        """Bytes in a path that none has, raw or escaped."""
        operation = luck.choice(OPERATIONS)
        byte = luck.randrange(256)
        raw = bytes([byte]) if luck.random() < 0.5 and byte not in b" \r\n" else b"%%%02X" % byte
        part = luck.choice([raw, b"a" + raw, raw * 3, raw + b"/..", b"%" + raw, b"%e2%82" + raw])
        path = operation.path.encode()
        while b"{" in path:
            before, _, rest = path.partition(b"{")
            path = before + part + rest.partition(b"}")[2]
        if luck.random() < 0.3:
            at = luck.randrange(1, len(path) + 1)
            path = path[:at] + part + path[at:]
        request = self._request(operation.method, path, {}, None, luck)
        return Shot("path", [request])

    def odd_target(self, luck: random.Random) -> Shot:
        """A request line that is hardly one."""
        method = luck.choice([b"GET", b"get", b"POST", b"BREW", b"CONNECT", b"OPTIONS", b"PRI", b"G\x00T", b"A" * 5000, b""])
        target = luck.choice(
            [b"*", b"/", b"//", b"", b"http://127.0.0.1/ojs/v1/health", b"http://[", b"host:80", b"/%", b"/?",
             b"/ojs/v1/jobs?" + b"&" * 3000, b"/ojs/v1/jobs?limit=1&limit=2", b"/ojs/v1/jobs?%=%&\xff=\xff", b"/" + b"a/" * 4000,
             b"/ojs/v1/../v1/health", b"/\\", b"/ojs/v1/health#x", b"/ojs/v1/jobs?cursor=" + _noise(luck, 40)]
        )  # fmt: skip
        version = luck.choice([b"HTTP/1.1", b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.1 x", b"HTTP/9", b"", b"http/1.1"])
        head = b"%b %b %b\r\nHost: %b\r\n\r\n" % (method, target, version, self._host)
        return Shot("line", [head])

    def odd_headers(self, luck: random.Random) -> Shot:
        """Headers twice, huge, folded, without a name, or with bytes that none has."""
        made, _ = self._whole(luck, close=True)
        line, _, rest = made.partition(b"\r\n")
        byte = bytes([luck.randrange(256)])
        extra = luck.choice(
            [b"Host: other", b"Authorization: Bearer a\r\nAuthorization: Bearer b", b"X" + byte + b": y", b"X: y" + byte, b": y",
             b"X", b" folded", b"X: y\r\n folded", b"X : y", b"X: " + b"y" * 70_000, b"\r\n".join([b"X: y"] * 2_000),
             b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 9" + b"9" * 30, b"Content-Length: 1, 1",
             b"Content-Length: 0x5", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip", b"Expect: 100-continue",
             b"Expect: nonsense", b"Upgrade: websocket\r\nConnection: Upgrade", b"Upgrade: h2c", b"Content-Encoding: gzip",
             b"Content-Encoding: " + _noise(luck, 9).replace(b"\n", b""), b"Content-Type: text/plain", b"Content-Type: application/json; charset=utf-16",
             b"Accept: " + b"*/*," * 2_000, b"OJS-Version: 99", b"X-Request-Id: " + byte * 300, b"Idempotency-Key: " + byte * 257,
             b"Origin: null", b"Origin: http://evil", b"Connection: " + byte, b"If-None-Match: " + byte, b"Last-Event-ID: " + byte * 20,
             b"traceparent: " + byte * 60, b"X-OJS-Tenant: " + byte * 5, b"Range: bytes=0-"]
        )  # fmt: skip
        return Shot("headers", [line + b"\r\n" + extra + b"\r\n" + rest])

    def odd_chunks(self, luck: random.Random) -> Shot:
        """A body in chunks, as it should be or not."""
        body = written(_body(luck.choice(_WITH_BODY), luck) or {})
        size = luck.choice(
            [b"%x" % len(body), b"%X" % len(body), b"0%x" % len(body), b"%x;a=b" % len(body), b"%x;" % len(body) + b"a" * 9_000,
             b"-1", b"", b"g", b" 5", b"5 ", b"f" * 17, b"0x5", b"%x" % (len(body) + 1), b"1", b"%x\n" % len(body)]
        )  # fmt: skip
        end = luck.choice([b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"0\r\n" + b"X: y\r\n" * 2_000 + b"\r\n", b"0\r\n", b"", b"0;x\r\n\r\n", b"00\r\n\r\n"])
        head: Head = [(b"Host", self._host), (b"Content-Type", _TYPES[0]), (b"Transfer-Encoding", luck.choice([b"chunked", b"Chunked", b"chunked, chunked", b"identity", b"gzip, chunked", b" chunked"]))]
        if luck.random() < 0.2:
            head.append((b"Content-Length", b"%d" % len(body)))
        head.append((b"Connection", b"close"))
        operation = luck.choice(_WITH_BODY)
        start = _lines(operation.method.encode(), operation.example()[0].encode(), head)
        return Shot("chunks", [start, size + b"\r\n", body, b"\r\n", end])

    def odd_body(self, luck: random.Random) -> Shot:
        """A body that is hardly JSON, or shorter or longer than it says."""
        operation = luck.choice(_WITH_BODY)
        body = written(_body(operation, luck) or {})
        at = luck.randrange(len(body) + 1)
        body = luck.choice(
            [body[:at], body[:at] + _noise(luck, 3) + body[at:], body * 2, b"\xef\xbb\xbf" + body, body.decode("latin-1").encode("utf-16"),
             luck.choice(VALUES).text, _noise(luck, luck.randrange(1, 400)), b" " * 10_000 + body, body + b"\0", b"",
             b'{"a":' * 100_000, b"[" * 300_000, body.replace(b":", b":" + luck.choice(VALUES).text + b",", 1)]
        )  # fmt: skip
        length = max(0, len(body) + luck.choice([0, 0, 0, 0, 1, -1, 100]))
        head: Head = [(b"Host", self._host), (b"Content-Type", luck.choice(_TYPES)), (b"Content-Length", b"%d" % length), (b"Connection", b"close")]
        start = _lines(operation.method.encode(), operation.example()[0].encode(), head)
        whole = length == len(body)
        return Shot("text", [start, body], [operation.method] if whole else ())

    def pipelined(self, luck: random.Random) -> Shot:
        """Many requests at once; the last one asks for the end."""
        count = luck.randrange(2, 12)
        made = [self._whole(luck, close=number == count - 1) for number in range(count)]
        pieces = [request for request, _ in made]
        if luck.random() < 0.3:
            pieces.insert(luck.randrange(count), _noise(luck, 20))
            return Shot("pipelined", pieces)
        return Shot("pipelined", pieces, [method for _, method in made])

    def in_pieces(self, luck: random.Random) -> Shot:
        """A request that comes in pieces, or of which the rest never comes."""
        made, method = self._whole(luck, close=True)
        cuts = sorted(luck.randrange(len(made) + 1) for _ in range(luck.randrange(1, 9)))
        edges = [0, *cuts, len(made)]
        pieces = [made[start:end] for start, end in zip(edges, edges[1:], strict=False)]
        if luck.random() < 0.5:
            return Shot("cut off", pieces[:-1])
        return Shot("in pieces", pieces, [method])

    def noise(self, luck: random.Random) -> Shot:
        """No HTTP at all."""
        some = luck.choice([b"\x16\x03\x01\x02\x00\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\r\n\r\n\r\n", b"\0" * 50, b"SSH-2.0-x\r\n", b""])
        return Shot("noise", [some + _noise(luck, luck.randrange(200))])

    def socket(self, luck: random.Random) -> Shot:
        """A WebSocket whose frames are anything."""
        head: Head = [(b"Host", self._host), (b"Upgrade", b"websocket"), (b"Connection", b"Upgrade"), (b"Sec-WebSocket-Version", luck.choice([b"13", b"13", b"13", b"8", b"x"])),
                      (b"Sec-WebSocket-Key", luck.choice([b"dGhlIHNhbXBsZSBub25jZQ==", b"dGhlIHNhbXBsZSBub25jZQ==", b"x"]))]  # fmt: skip
        messages = [
            luck.choice([_frame(luck, luck.choice(VALUES).text), _frame(luck, written({"action": luck.choice(["subscribe", "unsubscribe", "ping"]), "channel": luck.choice(VALUES), "id": luck.choice(VALUES)})), _noise(luck, 30)])
            for _ in range(luck.randrange(1, 6))
        ]
        return Shot("socket", [_lines(b"GET", b"/ojs/v1/ws", head), *messages])


def _body(operation: Operation, luck: random.Random) -> Any:
    bodies = [body for _, body in operation.bodies()]
    return luck.choice(bodies)


def _lines(method: bytes, target: bytes, head: Head) -> bytes:
    lines = (b"%b: %b\r\n" % pair for pair in head)
    return b"%b %b HTTP/1.1\r\n%b\r\n" % (method, target, b"".join(lines))


def _noise(luck: random.Random, length: int) -> bytes:
    if luck.random() < 0.5:
        return luck.randbytes(length)
    return "".join(luck.choice(string.printable) for _ in range(length)).encode()


def _frame(luck: random.Random, text: bytes) -> bytes:
    """A frame as a client masks it, with any opcode."""
    first = 0x80 | luck.choice([1, 1, 1, 2, 8, 9, 10, 0, 3, 0x41])
    mask = luck.randbytes(4)
    size = len(text)
    length = bytes([0x80 | size]) if size < 126 else (b"\xfe" + size.to_bytes(2) if size < 65_536 else b"\xff" + size.to_bytes(8))
    masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(text))
    return bytes([first & 0xFF]) + length + mask + masked


# A story of its own goes on until it is closed; maintenance would end all others.
_PLAIN: Final = [one for one in OPERATIONS if not is_endless(one) and one.id not in ("openSocket", "setMaintenance")]
_WITH_BODY: Final = [one for one in OPERATIONS if "requestBody" in one.definition]
_KINDS: Final[Sequence[Callable[[Shooter, random.Random], Shot]]] = (
    Shooter.path_bytes,
    Shooter.odd_target,
    Shooter.odd_headers,
    Shooter.odd_chunks,
    Shooter.odd_body,
    Shooter.pipelined,
    Shooter.in_pieces,
    Shooter.noise,
    Shooter.socket,
)
