"""Cron entries that are declared beside their handlers and registered when a worker starts."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ojs_worker.backoff import Patience
from ojs_worker.client.asynchronous import Client
from ojs_worker.client.calls import Overlap
from ojs_worker.errors import Refused, Unreachable
from ojs_worker.registry import Handler

log = logging.getLogger("ojs.worker")


class Scheduled(msgspec.Struct, frozen=True):
    """A schedule on which a handler runs, with its arguments."""

    name: str
    expression: str
    handler: Handler[..., Any, Any]
    arguments: Mapping[str, Any] = {}
    timezone: str | None = None
    overlap: Overlap | None = None


def name_of(job_type: str) -> str:
    """Make a cron entry's name of a job type."""
    return job_type.replace("_", "-")


async def register(entries: Sequence[Scheduled], client: Client, patience: Patience) -> None:
    """Register entries, or replace those of the same names, once the server can be reached. A
    refused entry is logged, and the worker works without it."""
    for entry in entries:
        handler = entry.handler

        async def put(entry: Scheduled = entry, handler: Handler[..., Any, Any] = handler) -> None:
            await client.put_cron(
                entry.name,
                entry.expression,
                handler.type,
                handler.binding.pack((), entry.arguments),
                timezone=entry.timezone,
                overlap=entry.overlap,
                **handler.defaults,
            )

        try:
            await patience.keep_on(put, (Unreachable,))
        except Refused as refused:
            log.error("the cron entry %s is refused: %s", entry.name, refused)
        else:
            log.info("the cron entry %s is registered", entry.name)
