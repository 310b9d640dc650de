"""Raw requests: shot N of a seed is always the same, whatever was sent before.

Every other shot puts the next hostile value into the next place of the contract, so that all
places have all values in the end. The others break what is around: lines, headers, lengths,
chunks, paths, the order of things.
"""

import itertools
import random
import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from tests.fuzz.breaking import (
    BEGINNINGS,
    CODINGS,
    ENDS,
    HEADERS,
    METHODS,
    SIZES,
    TARGETS,
    VERSIONS,
    frame,
    noise,
)
from tests.fuzz.operations import is_endless, places
from tests.fuzz.requests import (
    CLOSE,
    PLAIN,
    TYPES,
    WITH_BODY,
    Whole,
    body_of,
    lines,
    usual,
    with_value,
)
from tests.fuzz.values import VALUES, written
from tests.openapi.operations import OPERATIONS


class Shot(msgspec.Struct, frozen=True):
    """Bytes to send on one connection.

    `methods` are those of its requests where all of them are whole, so that each has an answer;
    otherwise the client hangs up behind its data, and the server has to end the connection.
    """

    kind: str
    pieces: Sequence[bytes]
    methods: Sequence[str] = ()
    endless: bool = False

    @property
    def data(self) -> bytes:
        """All bytes of the shot."""
        return b"".join(self.pieces)


class Shooter:
    """Makes the shots of one seed."""

    def __init__(self, seed: int, host: str) -> None:
        self._seed = seed
        self._host = host.encode()
        self.places: Final = places()
        random.Random(seed).shuffle(self.places)

    def shot(self, number: int) -> Shot:
        """Return the shot of a number."""
        luck = random.Random(f"{self._seed}:{number}")
        turn, breaks = divmod(number, 2)
        if breaks:
            return luck.choice(_KINDS)(self, luck)
        round_, index = divmod(turn, len(self.places))
        place = self.places[index]
        made = with_value(place, VALUES[(round_ + index) % len(VALUES)], self._host, luck)
        kind = f"{place.kind} {'.'.join(place.path)} of {place.operation.id}"
        return Shot(kind, [made.data], [made.method], is_endless(place.operation))

    def _usual(self, luck: random.Random, *, close: bool = True) -> Whole:
        return usual(luck.choice(PLAIN), self._host, luck, close=close)

    def path(self, luck: random.Random) -> Shot:
        """Bytes in a path that none has, raw or escaped."""
        operation, byte = luck.choice(OPERATIONS), luck.randrange(256)
        raw = b"%%%02X" % byte
        if byte not in b" \r\n" and luck.random() < 0.5:
            raw = bytes([byte])
        part = luck.choice([raw, b"a" + raw, raw * 3, raw + b"/..", b"%" + raw, b"%e2%82" + raw])
        path = re.sub(rb"\{[^}]*\}", lambda _: part, operation.path.encode())
        if luck.random() < 0.3:
            at = luck.randrange(1, len(path) + 1)
            path = path[:at] + part + path[at:]
        return Shot("path", [lines(operation.method.encode(), path, [(b"Host", self._host)])])

    def line(self, luck: random.Random) -> Shot:
        """A request line that is hardly one."""
        parts = (luck.choice(METHODS), luck.choice(TARGETS), luck.choice(VERSIONS))
        return Shot("line", [b"%b %b %b\r\nHost: %b\r\n\r\n" % (*parts, self._host)])

    def headers(self, luck: random.Random) -> Shot:
        """Headers twice, huge, folded, without a name, or with bytes that none has."""
        line, _, rest = self._usual(luck).data.partition(b"\r\n")
        more = luck.choice(HEADERS).replace(b"@", bytes([luck.randrange(256)]))
        return Shot("headers", [line + b"\r\n" + more + b"\r\n" + rest])

    def chunks(self, luck: random.Random) -> Shot:
        """A body in chunks, as it should be or not."""
        operation = luck.choice(WITH_BODY)
        body = written(body_of(operation, luck) or {})
        size = luck.choice(SIZES).replace(b"%x", b"%x" % len(body))
        size = size.replace(b"%y", b"%x" % (len(body) + 1))
        head = [(b"Host", self._host), (b"Content-Type", luck.choice(TYPES))]
        head.append((b"Transfer-Encoding", luck.choice(CODINGS)))
        if luck.random() < 0.2:
            head.append((b"Content-Length", b"%d" % len(body)))
        start = lines(operation.method.encode(), operation.example()[0].encode(), [*head, CLOSE])
        return Shot("chunks", [start, size + b"\r\n", body, b"\r\n", luck.choice(ENDS)])

    def text(self, luck: random.Random) -> Shot:
        """A body that is hardly JSON, or shorter or longer than it says."""
        operation = luck.choice(WITH_BODY)
        body = written(body_of(operation, luck) or {})
        at, value = luck.randrange(len(body) + 1), luck.choice(VALUES).text
        body = luck.choice(
            [
                *(body[:at], body[:at] + noise(luck, 3) + body[at:], body * 2, value, b""),
                *(b"\xef\xbb\xbf" + body, body.decode("latin-1").encode("utf-16"), body + b"\0"),
                *(noise(luck, luck.randrange(1, 400)), b" " * 10_000 + body, b'{"a":' * 100_000),
                *(b"[" * 300_000, body.replace(b":", b":" + value + b",", 1)),
            ]
        )
        length = max(0, len(body) + luck.choice([0, 0, 0, 0, 1, -1, 100]))
        head = [(b"Host", self._host), (b"Content-Type", luck.choice(TYPES))]
        head += [(b"Content-Length", b"%d" % length), CLOSE]
        start = lines(operation.method.encode(), operation.example()[0].encode(), head)
        return Shot("text", [start, body], [operation.method] if length == len(body) else ())

    def pipelined(self, luck: random.Random) -> Shot:
        """Many requests at once; the last one asks for the end."""
        count = luck.randrange(2, 12)
        made = [self._usual(luck, close=number == count - 1) for number in range(count)]
        pieces = [request.data for request in made]
        if luck.random() < 0.3:
            pieces.insert(luck.randrange(count), noise(luck, 20))
            return Shot("pipelined", pieces)
        return Shot("pipelined", pieces, [request.method for request in made])

    def pieces(self, luck: random.Random) -> Shot:
        """A request that comes in pieces, or of which the rest never comes."""
        made = self._usual(luck)
        cuts = sorted(luck.randrange(len(made.data) + 1) for _ in range(luck.randrange(1, 9)))
        edges = itertools.pairwise([0, *cuts, len(made.data)])
        pieces = [made.data[start:end] for start, end in edges]
        if luck.random() < 0.5:
            return Shot("cut off", pieces[:-1])
        return Shot("pieces", pieces, [made.method])

    def noise(self, luck: random.Random) -> Shot:
        """No HTTP at all."""
        return Shot("noise", [luck.choice(BEGINNINGS) + noise(luck, luck.randrange(200))])

    def socket(self, luck: random.Random) -> Shot:
        """A WebSocket handshake followed by random frames."""
        version = luck.choice([b"13", b"13", b"13", b"8", b"x"])
        key = luck.choice([b"dGhlIHNhbXBsZSBub25jZQ==", b"dGhlIHNhbXBsZSBub25jZQ==", b"x"])
        head = [(b"Host", self._host), (b"Upgrade", b"websocket"), (b"Connection", b"Upgrade")]
        head += [(b"Sec-WebSocket-Version", version), (b"Sec-WebSocket-Key", key)]
        frames = [self._frame(luck) for _ in range(luck.randrange(1, 6))]
        return Shot("socket", [lines(b"GET", b"/ojs/v1/ws", head), *frames])

    def _frame(self, luck: random.Random) -> bytes:
        value = luck.choice(VALUES)
        action = luck.choice(["subscribe", "unsubscribe", "ping"])
        said = written({"action": action, "channel": value, "id": luck.choice(VALUES)})
        return luck.choice([frame(luck, value.text), frame(luck, said), noise(luck, 30)])


_KINDS: Final[Sequence[Callable[[Shooter, random.Random], Shot]]] = (
    Shooter.path,
    Shooter.line,
    Shooter.headers,
    Shooter.chunks,
    Shooter.text,
    Shooter.pipelined,
    Shooter.pieces,
    Shooter.noise,
    Shooter.socket,
)
