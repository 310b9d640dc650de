"""Acts of readers of WebSocket channels."""

from collections.abc import Callable
from typing import Any

from tests.simulation.acts.caller import Acts, Caller, Do
from tests.simulation.acts.channel_reader import Reader
from tests.simulation.machine.loop import LANE


async def _follow(caller: Caller, what: dict[str, Any]) -> Any:
    reader = caller.readers[what["name"]] = Reader(caller, what)
    caller.loop.start(LANE.get(), reader.read(), what["name"])


def _with_reader(do: Callable[[Reader], None]) -> Do:
    async def act(caller: Caller, what: dict[str, Any]) -> Any:
        if what["name"] in caller.readers:
            do(caller.readers[what["name"]])

    return act


async def _rest(caller: Caller, what: dict[str, Any]) -> Any:
    if what["name"] in caller.readers:
        await caller.readers[what["name"]].rest(what["seconds"])


ACTS: Acts = {
    "follow channels": _follow,
    "channels rest": _rest,
    "channels break off": _with_reader(Reader.break_off),
    "channels close": _with_reader(Reader.close),
    "channels go back": _with_reader(Reader.go_back),
    "channels subscribe again": _with_reader(Reader.subscribe_again),
}
