"""Workers that hold a session, by which the server notices that they have ended."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

from ojs_worker.errors import OjsError
from ojs_worker.transport import Request
from tests.simulation.acts.caller import Acts, Caller
from tests.simulation.acts.calls import by_hand
from tests.simulation.acts.foreign import Held, fetch
from tests.simulation.acts.streams import Frames
from tests.simulation.ledger import Session

# The server says something every 15 seconds.
SILENCE_S = 40.0


@asynccontextmanager
async def _session(caller: Caller, worker_id: str) -> AsyncIterator[None]:
    """Open a session of a worker, and close it at the end of the block."""
    session = Session(worker_id, caller.loop.now)
    caller.ledger.sessions.append(session)
    settled = asyncio.Event()
    holding = asyncio.create_task(_hold(caller, session, settled))
    try:
        await settled.wait()
        yield
    finally:
        session.closed = not holding.done()
        holding.cancel()
        await asyncio.wait([holding])


async def _hold(caller: Caller, session: Session, settled: asyncio.Event) -> None:
    path = f"/ojs/v1/workers/{session.worker_id}/session"
    headers = {"Accept": "text/event-stream"}
    request = Request("GET", path, headers=headers, timeout_s=SILENCE_S)
    transport: Any = caller.transport
    frames = Frames()
    try:
        async with aclosing(transport.stream(request)) as pieces:
            async for piece in pieces:
                for frame in frames.feed(piece, caller.loop.now):
                    if frame.event == "session.opened":
                        session.opened_at = frame.at
                        settled.set()
    except OjsError:
        # Refused, or cut.
        pass
    finally:
        session.ended_at = caller.loop.now
        settled.set()


async def _finishes(caller: Caller, what: dict[str, Any]) -> Any:
    """Hold the session to the end of the work, without a BEAT."""
    async with _session(caller, what["worker_id"]):
        held = await fetch(caller, what)
        return await _finish(caller, what, held, what["work_s"])


async def _comes_back(caller: Caller, what: dict[str, Any]) -> Any:
    """Close the session, and open the next one before the grace period is over."""
    async with _session(caller, what["worker_id"]):
        held = await fetch(caller, what)
    await asyncio.sleep(what["grace_s"] / 4)
    async with _session(caller, what["worker_id"]):
        return await _finish(caller, what, held, 2 * what["grace_s"])


async def _opens_another(caller: Caller, what: dict[str, Any]) -> Any:
    """Close the session when the next one is open."""
    async with AsyncExitStack() as later:
        async with _session(caller, what["worker_id"]):
            held = await fetch(caller, what)
            await later.enter_async_context(_session(caller, what["worker_id"]))
        return await _finish(caller, what, held, 2 * what["grace_s"])


async def _vanishes(caller: Caller, what: dict[str, Any]) -> Any:
    """Close the session, and give no sign of life any more."""
    async with _session(caller, what["worker_id"]):
        return len(await fetch(caller, what))


async def _finish(
    caller: Caller, what: dict[str, Any], held: list[Held], after_s: float
) -> list[int]:
    await asyncio.sleep(after_s)
    statuses = [await each.ack() for each in held]
    body = {"worker_id": what["worker_id"]}
    status, _ = await by_hand(caller, "POST", "/workers/deregister", body)
    return [*statuses, status]


ENDS: Mapping[str, Callable[[Caller, dict[str, Any]], Awaitable[Any]]] = {
    "finishes": _finishes,
    "comes back": _comes_back,
    "opens another": _opens_another,
    "vanishes": _vanishes,
}


async def _work(caller: Caller, what: dict[str, Any]) -> Any:
    """Register, and run jobs with a session that ends in some way."""
    body = {"worker_id": what["worker_id"], "queues": what["queues"]}
    status, _ = await by_hand(caller, "POST", "/workers/register", body)
    return await ENDS[what["end"]](caller, what) if status in (200, 201) else None


ACTS: Acts = {"session": _work}
