"""Settings of queues: create, read, change."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ojs_server.domain.fields import parse_queue
from ojs_server.domain.queues.config import (
    MEMBERS,
    NO_CONFIG,
    QueueConfig,
    as_wire,
    parse_config,
    parse_limits,
)
from ojs_server.domain.suggestions import refuse_unknown
from ojs_server.http.access.roles import ADMINISTER, READ
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import Route
from ojs_server.ops.queues.control import Configure
from ojs_server.store.records import QueueCounts
from ojs_wire.calls import CreateQueueRequest
from ojs_wire.values import timestamp

Decide = Callable[[QueueConfig], QueueConfig]


async def create(call: Call) -> Answer:
    """A queue with settings, before its first job."""
    body, strict = await call.json(), call.server.settings.strict
    # The command line sends settings beside the name; those in `config` take precedence.
    flat = {name: body.pop(name) for name in MEMBERS & body.keys()}
    if strict:
        refuse_unknown("", body, MEMBERS | set(CreateQueueRequest.__struct_fields__))
    request = call.typed(body, CreateQueueRequest)
    name = parse_queue("name", request.name)
    base = parse_config(flat, strict=strict, base=NO_CONFIG)
    config = parse_config(request.config or {}, strict=strict, base=base)
    await call.server.engine.run(Configure(name, lambda base: config, new=True))
    return Answer(await _read(call, name), 201, {"Location": f"/ojs/v1/queues/{name}"})


async def read(call: Call) -> Answer:
    """The settings of a queue, set or not."""
    return Answer(await _read(call, parse_queue("queue", call.path_params["name"])))


async def replace(call: Call) -> Answer:
    """Replace all settings; the queue need not exist."""
    body, strict = await call.json(), call.server.settings.strict
    config = parse_config(body, strict=strict, base=NO_CONFIG)
    return await _configure(call, lambda base: config)


async def amend(call: Call) -> Answer:
    """Replace the settings that are named, and leave the others."""
    body, strict = await call.json(), call.server.settings.strict
    parse_config(body, strict=strict, base=NO_CONFIG)
    return await _configure(call, lambda base: parse_config(body, strict=strict, base=base))


async def limit(call: Call) -> Answer:
    """Replace a queue's limits, and leave its other settings."""
    body, strict = await call.json(), call.server.settings.strict
    parse_limits(body, strict=strict, base=NO_CONFIG)
    return await _configure(call, lambda base: parse_limits(body, strict=strict, base=base))


async def _configure(call: Call, decide: Decide) -> Answer:
    name = parse_queue("queue", call.path_params["name"])
    await call.server.engine.run(Configure(name, decide))
    return Answer(await _read(call, name))


async def _read(call: Call, name: str) -> dict[str, Any]:
    queue = await queue_counts(call, name)
    config = as_wire((queue.config if queue else None) or NO_CONFIG)
    return {
        "name": name,
        "state": "paused" if queue and queue.paused else "active",
        "config": config,
        # Repeated under the name of the admin API.
        "configuration": config,
        "created_at": timestamp(queue.created_at if queue else None),
        "updated_at": timestamp(queue.configured_at if queue else None),
    }


async def queue_counts(call: Call, name: str) -> QueueCounts | None:
    """Return a queue with its counters; None if there is none of this name."""
    found = await call.server.engine.read(lambda reader: reader.queues([name]))
    return found[0] if found else None


def shown(config: QueueConfig | None) -> Mapping[str, Any]:
    """A queue's settings as other answers show them."""
    return as_wire(config or NO_CONFIG)


ROUTES: Final = (
    Route("POST", "/queues", create, ADMINISTER),
    Route("GET", "/queues/{name}/config", read, READ),
    Route("PUT", "/queues/{name}/config", replace, ADMINISTER),
    Route("PATCH", "/queues/{name}/config", amend, ADMINISTER),
    Route("PUT", "/queues/{name}/rate-limit", limit, ADMINISTER),
)
