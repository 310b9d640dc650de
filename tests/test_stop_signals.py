"""Signals that end the process, as the application hears them."""

import asyncio
import signal

from ojs_server.stop_signals import stop_signals


async def test_the_handlers_of_the_server_are_called_too_and_put_back() -> None:
    heard: list[str] = []
    stopped = asyncio.Event()
    before = signal.signal(signal.SIGTERM, lambda sig, frame: heard.append("the server"))
    own = signal.getsignal(signal.SIGTERM)
    try:
        with stop_signals(stopped.set):
            signal.raise_signal(signal.SIGTERM)
            await asyncio.wait_for(stopped.wait(), 10)
        assert heard == ["the server"]
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


async def test_signals_without_a_handler_are_left_alone() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with stop_signals(lambda: None):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
