"""Cron entries that are declared beside their handlers and registered when a worker starts."""

import contextlib
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from ojs_worker.backoff import Patience
from ojs_worker.client.asynchronous import Client
from ojs_worker.client.calls import Overlap
from ojs_worker.client.options import Options
from ojs_worker.errors import NotFound, Refused, Unreachable
from ojs_worker.registry import Handler

log = logging.getLogger("ojs.worker")

# The member of an entry's `meta`, and so of its jobs', that names its owner.
OWNER: Final = "cron_owner"


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


async def register(
    entries: Sequence[Scheduled],
    client: Client,
    patience: Patience,
    *,
    owner: str | None = None,
    prune: bool = False,
) -> None:
    """Register entries, or replace those of the same names, once the server can be reached. A
    refused entry is logged, and the worker works without it."""
    for entry in entries:
        try:
            await patience.keep_on(partial(put, entry, client, owner), (Unreachable,))
        except Refused as refused:
            log.error("the cron entry %s is refused: %s", entry.name, refused)
        else:
            log.info("the cron entry %s is registered", entry.name)
    if owner is not None:
        await _look_for_removed(entries, client, patience, owner, prune=prune)


async def put(entry: Scheduled, client: Client, owner: str | None) -> None:
    """Register one entry, or replace the one of its name."""
    handler = entry.handler
    await client.put_cron(
        entry.name,
        entry.expression,
        handler.type,
        handler.binding.pack((), entry.arguments),
        timezone=entry.timezone,
        overlap=entry.overlap,
        **_owned(handler.options_for(**entry.arguments), owner),
    )


async def _look_for_removed(
    entries: Sequence[Scheduled], client: Client, patience: Patience, owner: str, *, prune: bool
) -> None:
    names = {entry.name for entry in entries}

    async def look() -> None:
        for one in await client.list_crons():
            if one.meta.get(OWNER) != owner or one.name in names:
                continue
            if not prune:
                log.warning(
                    "the cron entry %s of %s is not in the code any more; delete it, or start the "
                    "worker with --prune-cron",
                    one.name,
                    owner,
                )
                continue
            with contextlib.suppress(NotFound):
                await client.delete_cron(one.name)
            log.info("the cron entry %s, which is not in the code any more, is deleted", one.name)

    try:
        await patience.keep_on(look, (Unreachable,))
    except Refused as refused:
        log.error("the cron entries of %s cannot be compared with the code: %s", owner, refused)


def _owned(options: Options, owner: str | None) -> Options:
    if owner is None:
        return options
    return {**options, "meta": {**options.get("meta", {}), OWNER: owner}}
