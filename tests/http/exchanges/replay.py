"""Playing a client's exchanges against a server."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final
from urllib.parse import parse_qsl

import httpx
import msgspec

from ojs_server.app import Server
from ojs_server.ops.sweep import Sweep
from tests.http.clock import Hands
from tests.http.conftest import Serve, connect
from tests.http.exchanges.kinds import faults
from tests.http.exchanges.recording import Recording, Step
from tests.http.streaming import Listening, listen

NAME: Final = re.compile(r"\$([a-z]+[0-9]*)")
# Gets each step with the status and text of its answer, and the names kept so far.
Observe = Callable[[Step, int, str, Mapping[str, Any]], None]


def _ignore(step: Step, status: int, answer: str, kept: Mapping[str, Any]) -> None:
    pass


async def replay(recording: Recording, name: str, serve: Serve, observe: Observe = _ignore) -> None:
    """Play one exchange; an answer that its client could not read is a failure.

    A recorded request can name times, so it is played at the moment of the recording.
    """
    hands = Hands(recording.date)
    kept: dict[str, Any] = {}
    async with serve(clock=hands) as server, connect(server) as client, AsyncExitStack() as streams:
        for step in recording.exchanges[name].steps:
            hands.turn(seconds=step.after)
            await server.engine.run(Sweep(reachable_since=0, requested_at=hands()))
            if step.hears:
                hearing = _hearing(recording, step, server, kept, observe)
                await streams.enter_async_context(hearing)
            else:
                await _play(recording, step, client, kept, observe)


@asynccontextmanager
async def _hearing(
    recording: Recording, step: Step, server: Server, kept: dict[str, Any], observe: Observe
) -> AsyncIterator[None]:
    """Open a stream and check that it sends the events of the step before it is closed."""
    path, _, query = _filled(step.send, kept).removeprefix("GET ").partition("?")
    headers = step.headers or recording.headers
    async with listen(server, path, headers, **dict(parse_qsl(query))) as heard:
        assert heard.status == step.status, f"{step.send}: {heard.body!r}"
        yield
        answer: Any = None
        for wanted in step.hears:
            answer = await _next(heard, wanted, recording, step)
        observe(step, heard.status, msgspec.json.encode(answer).decode(), kept)
        _find(answer, step, kept)


async def _next(heard: Listening, wanted: str, recording: Recording, step: Step) -> Any:
    while (frame := (await heard.events(1))[0]).event != wanted:
        pass
    _check(frame.data, recording, step)
    return frame.data


def _check(answer: Any, recording: Recording, step: Step) -> None:
    missing = list(faults(answer, recording.needed(step), recording.shapes))
    assert not missing, f"{step.send}: {missing}"


async def _play(
    recording: Recording,
    step: Step,
    client: httpx.AsyncClient,
    kept: dict[str, Any],
    observe: Observe,
) -> None:
    method, target = _filled(step.send, kept).split()
    response = await client.request(
        method,
        target,
        content=None if step.body is None else msgspec.json.encode(_filled(step.body, kept)),
        headers=step.headers or recording.headers,
    )
    assert response.status_code == step.status, f"{step.send}: {response.text}"
    observe(step, response.status_code, response.text, kept)
    if step.holds:
        missing = [text for text in step.holds if text not in response.text]
        assert not missing, f"{step.send}: {missing}"
        return
    if step.status == httpx.codes.NO_CONTENT:
        return
    if step.call and step.status < 400:
        assert recording.media_type_holds in response.headers["content-type"]
    answer = response.json()
    _check(answer, recording, step)
    _find(answer, step, kept)


def _find(answer: Any, step: Step, kept: dict[str, Any]) -> None:
    """Check the values that a step finds in an answer, and keep those that it names."""
    found = {place: _at(answer, place) for place in step.finds}
    assert found == _filled(step.finds, kept), step.send
    kept.update({name: _at(answer, place) for name, place in step.keep.items()})


def _filled(value: Any, kept: dict[str, Any]) -> Any:
    """A value with the kept parts in place of their names."""
    match value:
        case str():
            return NAME.sub(lambda found: str(kept[found[1]]), value)
        case list():
            return [_filled(item, kept) for item in value]
        case dict():
            return {_filled(name, kept): _filled(item, kept) for name, item in value.items()}
    return value


def _at(answer: Any, place: str) -> Any:
    """Return the part of an answer at a path of names and indexes."""
    for part in place.split("."):
        answer = answer[int(part)] if isinstance(answer, list) else answer[part]
    return answer
