"""What is written in one turn of the loop leaves together, and nothing is held back longer."""

import asyncio
from typing import cast

from ojs_server.http.transport import MAX_HELD, TogetherTransport


class Recorder:
    """A transport that notes what happens to it."""

    def __init__(self) -> None:
        self.seen: list[bytes | str] = []

    def write(self, data: bytes) -> None:
        self.seen.append(data)

    def close(self) -> None:
        self.seen.append("close")

    def get_write_buffer_size(self) -> int:
        return 5

    def is_closing(self) -> bool:
        return "close" in self.seen


def over(recorder: Recorder) -> TogetherTransport:
    return TogetherTransport(cast("asyncio.Transport", recorder), asyncio.get_running_loop())


async def test_a_head_and_its_body_are_one_write() -> None:
    recorder = Recorder()
    transport = over(recorder)
    transport.write(b"head ")
    transport.write(b"body")
    assert recorder.seen == []
    await asyncio.sleep(0)
    assert recorder.seen == [b"head body"]
    transport.write(b"next")
    await asyncio.sleep(0)
    assert recorder.seen == [b"head body", b"next"]


async def test_closing_sends_first_what_is_held() -> None:
    recorder = Recorder()
    transport = over(recorder)
    transport.write(b"last words")
    transport.close()
    await asyncio.sleep(0)
    assert recorder.seen == [b"last words", "close"]
    assert transport.is_closing()


async def test_what_is_held_counts_as_unsent() -> None:
    transport = over(Recorder())
    transport.write(b"1234")
    assert transport.get_write_buffer_size() == 9
    transport.flush()
    assert transport.get_write_buffer_size() == 5


async def test_much_is_passed_on_within_the_turn() -> None:
    recorder = Recorder()
    transport = over(recorder)
    transport.write(b"x" * MAX_HELD)
    assert recorder.seen == []
    transport.write(b"y")
    assert recorder.seen == [b"x" * MAX_HELD + b"y"]
    await asyncio.sleep(0)
    assert len(recorder.seen) == 1


async def test_what_is_held_for_a_client_that_has_gone_is_dropped() -> None:
    recorder = Recorder()
    transport = over(recorder)
    transport.write(b"too late")
    recorder.close()
    await asyncio.sleep(0)
    assert recorder.seen == ["close"]
