"""The target of all webhooks: a process that takes deliveries, and is slow, fails or is away."""

import asyncio
import random
from typing import cast

from tests.simulation.ledger import Ledger, Receipt
from tests.simulation.machine.loop import SimulatedLoop

PORT = 9000
# Answers after which a delivery is tried again, and one after which it is given up.
AGAIN = (500, 503, 429)
HOPELESS = 410


class Hook:
    """A process that notes each delivery. Faults change its members."""

    def __init__(self, loop: SimulatedLoop, chance: random.Random, ledger: Ledger) -> None:
        self.loop = loop
        self.lane = loop.lane("hook", "hook")
        self.ledger = ledger
        self.chance = chance
        # Chance that a delivery is refused for now, and for good.
        self.fail_rate = 0.0
        self.hopeless_rate = 0.0
        # Longest time until an answer.
        self.slow_s = 0.0
        # Chance that a connection is reset.
        self.away_rate = 0.0

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://hook:{PORT}"

    def start(self) -> None:
        """Start the process."""
        self.loop.post(self.lane, self._listen)

    def _listen(self) -> None:
        assert self.loop.network is not None
        self.loop.network.listen(lambda: _Connection(self), "hook", PORT)

    def status(self) -> int:
        """Choose the answer to a delivery."""
        if self.chance.random() < self.hopeless_rate:
            return HOPELESS
        return self.chance.choice(AGAIN) if self.chance.random() < self.fail_rate else 200


class _Connection(asyncio.Protocol):
    def __init__(self, hook: Hook) -> None:
        self._hook = hook
        self._read = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._hook.chance.random() < self._hook.away_rate:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, found, body = self._read.partition(b"\r\n\r\n")
        if not found:
            return
        first, *lines = head.decode().split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if len(body) < int(headers.get("content-length", "0")):
            return
        self._read = b""
        hook = self._hook
        receipt = Receipt(hook.loop.now, first.split(" ")[1], headers, body, hook.status())
        hook.ledger.receipts.append(receipt)
        delay = hook.slow_s * hook.chance.random()
        if delay:
            asyncio.get_running_loop().call_later(delay, self._answer, receipt)
        else:
            self._answer(receipt)

    def _answer(self, receipt: Receipt) -> None:
        if not self._transport.is_closing():
            self._transport.write(
                b"HTTP/1.1 %d Noted\r\nContent-Length: 2\r\n\r\nok" % receipt.status
            )
