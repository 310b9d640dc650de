"""The RPC StreamEvents, which sends events as they happen."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from google.protobuf.struct_pb2 import Struct

from ojs_server.domain.errors import Conflict
from ojs_server.grpc import values
from ojs_server.grpc.calls import Rpc
from ojs_server.grpc.errors import stopping
from ojs_server.grpc.proto import ojs_v1_pb2 as pb
from ojs_server.ops.streams.event_json import event_id
from ojs_server.store.event_log import is_type
from ojs_server.store.records import EventFilter, PlacedEvent
from ojs_wire.codec import decode

# Types of events that the binding calls otherwise.
NAMES: Final[Mapping[str, str]] = {"job.discarded": "job.dead"}
KEEPALIVE: Final = "stream.keepalive"
DROPPED: Final = "stream.events_dropped"
KEEPALIVE_S: Final = 30.0


async def stream_events(rpc: Rpc, message: pb.StreamEventsRequest) -> None:
    """Yield the events from now on that pass all filters."""
    log_reader, wall_ms = rpc.server.engine.log_reader, rpc.server.environment.wall_ms
    subject = message.workflow_id or message.job_id or None
    follower = log_reader.admit(
        EventFilter(
            types=_types_in(message.event_types),
            queues=tuple(message.queues),
            subject=subject,
            tenant=rpc.tenant,
        )
    )
    gone = asyncio.ensure_future(rpc.left.wait())
    gone.add_done_callback(lambda _: follower.close())
    try:
        await log_reader.follow(follower)
        while True:
            lost, entries = follower.take()
            if lost is not None:
                dropped = _own(DROPPED, {"count": lost.count}, wall_ms())
                if not await rpc.write(dropped):
                    return
            for entry in entries:
                event = _event(entry.placed)
                if message.workflow_id and message.job_id not in ("", event.job_id):
                    continue
                if not await rpc.write(event):
                    return
            if entries:
                continue
            if follower.closed:
                break
            if await follower.wait(KEEPALIVE_S):
                continue
            if not await rpc.write(_own(KEEPALIVE, {}, wall_ms())):
                return
        if log_reader.closed:
            raise stopping()
    finally:
        gone.cancel()
        log_reader.leave(follower)


def _types_in(wished: Iterable[str]) -> tuple[str, ...]:
    """Return the types of events that a filter asks for, by either of their names."""
    types = tuple(wished)
    renamed = (
        name for name, shown in NAMES.items() if any(is_type(shown, pattern) for pattern in types)
    )
    return (*types, *renamed)


def _event(placed: PlacedEvent) -> pb.Event:
    event = placed.event
    data: Mapping[str, Any] = decode(event.own)
    workflow = event.subject if event.type.startswith("workflow.") else data.get("workflow_id")
    about = event.subject if event.job_type is not None else data.get("job_id")
    return pb.Event(
        id=event_id(placed),
        type=NAMES.get(event.type, event.type),
        job_id=about or "",
        job_type=event.job_type or "",
        queue=event.queue or "",
        timestamp=values.timestamp_at(placed.at),
        data=_carried(data),
        workflow_id=workflow or "",
    )


def _carried(data: Mapping[str, Any]) -> Struct | None:
    """Return the data of an event; nothing where gRPC would round it."""
    try:
        return values.struct_of(data, "data")
    except Conflict:
        return None


def _own(kind: str, data: Mapping[str, Any], at: int) -> pb.Event:
    """Return an event about the stream itself."""
    moment = values.timestamp_at(at)
    return pb.Event(type=kind, timestamp=moment, data=values.struct_of(data, "data"))
