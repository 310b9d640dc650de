"""Schemas of the arguments of jobs: register, list, read, remove."""

import asyncio
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import invalid
from ojs_server.domain.schemas.schema import Schema, compatible_with, read_uri, registered
from ojs_server.domain.version import Version, parse_version
from ojs_server.http import dialects
from ojs_server.http.access.roles import OPERATE, READ
from ojs_server.http.call import Answer, Call
from ojs_server.http.paging import page_of
from ojs_server.http.route import Route
from ojs_server.ops.schemas.registry import RegisterSchema, RemoveSchema, compiled, missing
from ojs_wire.calls import SchemaRequest
from ojs_wire.values import timestamp

Shown = dict[str, Any]


async def put(call: Call) -> Answer:
    """Register the version that the path names."""
    kind, version = call.path_params["type"], call.path_params["version"]
    whole = int(version) if version.isdecimal() and len(version) < 10 else version
    stored = await _register(call, {**await _body(call), "type": kind, "version": whole})
    return Answer(_whole(stored), 201, _location(stored))


async def register(call: Call) -> Answer:
    """Register the version that the body names."""
    stored = await _register(call, await _body(call))
    return Answer(dialects.schema_answer(_whole(stored)), 201, _location(stored))


async def listing(call: Call) -> Answer:
    """List schemas by type, newest version first, without their texts."""
    found = await call.server.engine.read(lambda reader: reader.schemas())
    part, pagination = page_of(call).cut(found)
    items = [_shown(schema) for schema in part]
    return Answer({"schemas": items, "items": items, "pagination": pagination})


async def named(call: Call) -> Answer:
    """Show the newest version of a type, or the schema with a URI."""
    name = call.path_params["schema"]
    if _is_uri(name):
        return Answer(dialects.schema_answer(_whole(await _by_uri(call, name))))
    return Answer(_whole(await _find(call, name, None)))


async def versions(call: Call) -> Answer:
    """List the versions of a type, newest first."""
    kind = call.path_params["type"]
    found = await call.server.engine.read(lambda reader: reader.schemas(kind))
    if not found:
        raise missing(kind[:100])
    items = [{**_shown(schema), "is_latest": place == 0} for place, schema in enumerate(found)]
    return Answer({"type": kind, "versions": items})


async def detail(call: Call) -> Answer:
    """Show one version of a type."""
    return Answer(_whole(await _find(call, call.path_params["type"], _version(call))))


async def remove(call: Call) -> Answer:
    """Delete one version of a type; the newest of the rest takes its place."""
    kind, version = call.path_params["type"], _version(call)
    await call.server.engine.run(RemoveSchema(kind, version))
    return Answer({"deleted": True, "type": kind, "job_type": kind, "version": str(version)})


async def remove_named(call: Call) -> Answer:
    """Delete the schema of a URI."""
    name = call.path_params["schema"]
    if not _is_uri(name):
        raise invalid(
            "schema",
            "must be the URI of a schema; DELETE /ojs/v1/schemas/{type}/{version} removes a "
            "version of a type",
        )
    mark = (await _by_uri(call, name)).mark
    await call.server.engine.run(RemoveSchema(mark.type, mark.version))
    return Answer({"deleted": True, "uri": name})


async def _body(call: Call) -> Shown:
    body = await call.json()
    call.check_members(body, SchemaRequest)
    return dialects.schema_request(body)


async def _register(call: Call, given: Shown) -> Schema:
    schema = registered(given, 0)
    # In a thread: checking a large schema takes a while.
    await asyncio.to_thread(compiled, schema.document)
    promised = compatible_with(given)
    stored: Schema = await call.server.engine.run(RegisterSchema(schema, promised))
    return stored


def _location(schema: Schema) -> dict[str, str]:
    mark = schema.mark
    return {"Location": f"/ojs/v1/schemas/{mark.type}/{mark.version}"}


def _version(call: Call) -> Version:
    return parse_version("version", call.path_params["version"])


def _is_uri(name: str) -> bool:
    # Job types contain no colon.
    return ":" in name


async def _by_uri(call: Call, uri: str) -> Schema:
    """Find a schema by the URI that its client chose, or by the usual one."""
    found = await call.server.engine.read(lambda reader: reader.schema_of_uri(uri))
    if found is not None:
        return found
    usual = read_uri(uri)
    if usual is None:
        raise missing(uri[:100])
    return await _find(call, usual[0], parse_version("schema", usual[1]))


async def _find(call: Call, kind: str, version: Version | None) -> Schema:
    found = await call.server.engine.read(lambda reader: reader.schema(kind, version))
    if found is None:
        raise missing(kind[:100], version)
    return found


def _shown(schema: Schema) -> Shown:
    return {
        "type": schema.mark.type,
        "job_type": schema.mark.type,
        "version": msgspec.Raw(schema.written),
        "uri": schema.uri,
        "mode": schema.mark.mode,
        "created_at": timestamp(schema.created_at),
    }


def _whole(schema: Schema) -> Shown:
    return {**_shown(schema), "schema": msgspec.Raw(schema.document)}


ROUTES: Final = (
    Route("POST", "/schemas", register, OPERATE),
    Route("GET", "/schemas", listing, READ),
    Route("GET", "/schemas/{schema}", named, READ, tenanted=True),
    Route("DELETE", "/schemas/{schema}", remove_named, OPERATE),
    Route("GET", "/schemas/{type}/versions", versions, READ, tenanted=True),
    Route("PUT", "/schemas/{type}/{version}", put, OPERATE),
    Route("GET", "/schemas/{type}/{version}", detail, READ, tenanted=True),
    Route("DELETE", "/schemas/{type}/{version}", remove, OPERATE),
)
