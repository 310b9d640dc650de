"""Providers of the job manager: reads that a worker answers, in a room or for all of them."""

import asyncio
import re
from typing import Any, Final

from ojs_server.domain.errors import InvalidRequest, OjsError
from ojs_server.http.access.roles import READ, WORK
from ojs_server.http.call import Answer, Call
from ojs_server.http.prefer_header import applied, preference
from ojs_server.http.responses import NO_CONTENT
from ojs_server.http.route import Route
from ojs_server.http.workers.function_blocks import kept_schema
from ojs_server.store.base import Reader
from ojs_server.store.records import EventFilter
from ojs_server.systems.jobmanager import ops as operations
from ojs_server.systems.jobmanager import tables
from ojs_server.systems.jobmanager.domain import names
from ojs_server.systems.jobmanager.domain import provider as providers
from ojs_server.systems.jobmanager.domain.names import GLOBAL
from ojs_server.systems.jobmanager.domain.provider import Provider
from ojs_server.systems.jobmanager.http.access import require_admin, require_worker
from ojs_server.systems.jobmanager.http.input import read_body
from ojs_server.systems.jobmanager.http.pages import page_of
from ojs_server.systems.jobmanager.requests import ProviderRequest
from ojs_wire.codec import decode
from ojs_wire.values import format_timestamp

_HASH: Final = re.compile(r"[0-9A-Za-z_-]{1,128}")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)


async def put(call: Call) -> Answer:
    """Register a provider for a worker; without an id the server makes the worker."""
    request = await read_body(call, ProviderRequest)
    room = providers.parse_room(names.parse_room(call.path_params["room"]))
    if room == GLOBAL:
        require_admin(call, f"providers of {GLOBAL} are registered by administrators only")
    name = names.FullName(
        room,
        providers.parse_part("category", request.category),
        providers.parse_part("name", request.name),
    )
    if not _MEDIA_TYPE.fullmatch(request.content_type):
        raise InvalidRequest("`content_type` must be a media type, such as application/json")
    known = await _find(call, providers.id_of(name))
    if known is not None:
        _require_own(call, known)
    given = request.worker_id
    if given is not None:
        await require_worker(call, given)
    provider = Provider(
        id=providers.id_of(name),
        room=room,
        category=name.category,
        name=name.name,
        schema=kept_schema(request.offered_schema, "schema"),
        content_type=request.content_type,
        worker_id=call.server.environment.new_id() if given is None else given,
        principal=call.principal or None,
        created_at=0,
    )
    done = await call.server.engine.run(operations.Provide(provider, new=given is None))
    return Answer(_shown(done.provider), 201 if done.is_new else 200)


async def listing(call: Call) -> Answer:
    """List the providers that are visible in a room, newest first."""
    rooms = providers.visible_from(names.parse_room(call.path_params["room"]))
    found = await call.server.engine.read(
        lambda reader: [one for room in rooms for one in tables.providers_in(reader, room)]
    )
    found.sort(key=lambda provider: (provider.created_at, provider.id), reverse=True)
    return page_of(call, [_shown(provider) for provider in found])


async def info(call: Call) -> Answer:
    """Show one provider, by its full name."""
    return Answer(_shown(await _named(call)))


async def read(call: Call) -> Answer:
    """Return the result of a provider for these parameters: a cached one, or a new one."""
    provider = await _named(call)
    params = providers.canonical_params(call.query_params)
    wished = preference(call).wait_s
    wait_s = providers.WAIT_S if wished is None else min(wished, providers.MAX_WAIT_S)
    found = await _kept(call, provider, params)
    if found is not None:
        return Answer(found, media_type=provider.content_type)
    found = await _answer(call, provider, params, wait_s)
    if found is None:
        raise OjsError(
            f"the provider {provider.full_name} did not answer within {wait_s} s",
            code=providers.TIMEOUT,
            headers={"Retry-After": "2"},
        )
    headers = {} if wished is None else applied(wait_s * 1000)
    return Answer(found, headers=headers, media_type=provider.content_type)


async def answer(call: Call) -> Answer:
    """Store a worker's answer to a request of its provider."""
    request_hash = call.header(b"x-request-hash") or ""
    if not _HASH.fullmatch(request_hash):
        raise InvalidRequest("the header X-Request-Hash must name the request that is answered")
    provider = await _owned(call)
    content = await call.body(of_any_type=True)
    await call.server.engine.run(operations.RecordAnswer(provider.id, request_hash, content))
    return Answer(b"", NO_CONTENT)


async def delete(call: Call) -> Answer:
    """Delete a provider."""
    provider = await _owned(call)
    await call.server.engine.run(operations.Withdraw(provider.id))
    return Answer(b"", NO_CONTENT)


async def _kept(call: Call, provider: Provider, params: bytes) -> bytes | None:
    """Return an answer that was given to an earlier read, or has come for this one."""
    request_hash = providers.hash_of(params)

    def look(reader: Reader) -> bytes | None:
        return tables.provider_answer(reader, provider.id, request_hash, reader.now())

    return await call.server.engine.read(look)


async def _answer(call: Call, provider: Provider, params: bytes, wait_s: int) -> bytes | None:
    engine = call.server.engine
    # Follow before the request, so that its answer is not missed, on whichever node that comes.
    event_filter = EventFilter(types=(providers.ANSWERED, providers.JOINED), subject=provider.id)
    follower = engine.log_reader.admit(event_filter)
    try:
        await engine.log_reader.follow(follower)
        await engine.run(operations.Ask(provider.id, params))
        deadline = asyncio.get_running_loop().time() + wait_s
        while (found := await _kept(call, provider, params)) is None and not follower.closed:
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0 or not await follower.wait(left_s):
                break
            lost, entries = follower.take()
            if lost or any(entry.placed.event.type == providers.JOINED for entry in entries):
                await engine.run(operations.Ask(provider.id, params, again=True))
        return found
    finally:
        engine.log_reader.leave(follower)


async def _find(call: Call, provider_id: str) -> Provider | None:
    return await call.server.engine.read(lambda reader: tables.provider(reader, provider_id))


async def _named(call: Call) -> Provider:
    room = names.parse_room(call.path_params["room"])
    name = providers.parse_name(call.path_params["name"])
    found = await _find(call, providers.id_of(name))
    if found is None or not providers.may_read(room, name):
        raise providers.unknown(str(name))
    return found


async def _owned(call: Call) -> Provider:
    found = await _find(call, call.path_params["id"])
    if found is None:
        raise providers.unknown(call.path_params["id"])
    _require_own(call, found)
    return found


def _require_own(call: Call, provider: Provider) -> None:
    if provider.principal != (call.principal or None):
        require_admin(call, f"the provider {provider.full_name} is another principal's")


def _shown(provider: Provider) -> dict[str, Any]:
    return {
        "id": provider.id,
        "room_id": provider.room,
        "category": provider.category,
        "name": provider.name,
        "full_name": str(provider.full_name),
        "schema": decode(provider.schema),
        "worker_id": provider.worker_id,
        "created_at": format_timestamp(provider.created_at),
    }


ROUTES: Final = (
    Route("PUT", "/rooms/{room}/providers", put, WORK),
    Route("GET", "/rooms/{room}/providers", listing, READ),
    Route("GET", "/rooms/{room}/providers/{name}/info", info, READ),
    Route("GET", "/rooms/{room}/providers/{name}", read, READ, waits=True),
    Route("POST", "/providers/{id}/results", answer, WORK),
    Route("DELETE", "/providers/{id}", delete, WORK),
)
