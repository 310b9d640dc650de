"""Cases of relays beside each other, and of a server that is away."""

import asyncio
from typing import Final

from conformance.case import adapter_case
from conformance.play.adapter_stage import AdapterStage

# Time for a second relay to send what the first has read; one that waits for the first goes on
# after it.
_HEAD_START_S: Final = 2.0


@adapter_case("OJS-ADP-007")
async def two_at_once(stage: AdapterStage) -> None:
    """Two relays that read the same jobs hand out each of them once."""
    first = await stage.start()
    stage.need_relay()
    stage.points("relay-read")
    stage.where = "after two relays have read the same jobs"
    await stage.transact(stage.rows(3))
    await stage.pause_relay("relay-read")
    second = asyncio.create_task(stage.relay(await stage.start()))
    try:
        await asyncio.wait({second}, timeout=_HEAD_START_S)
        await stage.jobs.collect()
        await first.go()
        await second
    finally:
        second.cancel()
    await stage.end()


@adapter_case("OJS-ADP-008")
async def server_away(stage: AdapterStage) -> None:
    """Jobs that are committed while the server is away are handed out when it is back."""
    stage.need(stage.server is not None, "it needs a server that the judge may stop: no --url")
    assert stage.server is not None
    await stage.start()
    stage.where = "after the server was away"
    await stage.server.kill()
    try:
        # An adapter that needs the server refuses, and commits nothing.
        await stage.transact(stage.rows(2), may_fail=True)
        if stage.abilities.relay:
            await stage.relay()
        await stage.transact(stage.rows(), may_fail=True)
    finally:
        await stage.server.start()
    await stage.transact(stage.rows())
    await stage.end()
