"""Streaming answers, which count against the server's limit of streams while the client stays."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from ojs_server.http.call import Stream
from ojs_server.ops.engine.engine import Engine
from ojs_server.ops.engine.event_log_reader import Follower


class HeldStream(Stream):
    """A stream that ends when the client has gone or the server stops, and closes its follower."""

    def __init__(self, engine: Engine, follower: Follower, left: Coroutine[Any, Any, None]) -> None:
        """Set up the stream; `left` ends when the client has gone."""
        self._engine = engine
        self._follower = follower
        self._left = asyncio.ensure_future(left)
        self._left.add_done_callback(lambda _: follower.close())

    def close(self) -> None:
        """Free the place for another stream."""
        self._left.cancel()
        self._engine.log_reader.leave(self._follower)
