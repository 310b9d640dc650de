"""Cron entries that are declared beside their handlers and registered when a worker starts."""

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from ojs_worker.client.asynchronous import Client
from ojs_worker.client.calls import Overlap
from ojs_worker.client.options import Options
from ojs_worker.config import SettingError
from ojs_worker.errors import NotFound, PermissionDenied, Refused, Unreachable
from ojs_worker.handlers.registry import Handler
from ojs_worker.transport.backoff import Backoff

log = logging.getLogger("ojs.worker")
H = TypeVar("H")

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


class Schedules:
    """The schedules of a worker or router, each under a name of its own."""

    def __init__(self) -> None:
        self._entries: dict[str, Scheduled] = {}

    def __iter__(self) -> Iterator[Scheduled]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def declare(
        self,
        expression: str,
        name: str | None,
        timezone: str | None,
        overlap: Overlap | None,
        arguments: Mapping[str, Any],
    ) -> Callable[[H], H]:
        """Return a decorator that adds a schedule of a handler."""

        def scheduled(handler: H) -> H:
            if not isinstance(handler, Handler):
                raise TypeError("`cron` stands above `job`, which makes the handler")
            named = name or name_of(handler.type)
            handler.binding.pack((), arguments)
            self._add(Scheduled(named, expression, handler, arguments, timezone, overlap))
            return handler

        return scheduled

    def include(self, others: "Schedules") -> None:
        """Include the schedules of a router."""
        for entry in others:
            if self._entries.get(entry.name) is not entry:
                self._add(entry)

    def _add(self, entry: Scheduled) -> None:
        if entry.name in self._entries:
            raise ValueError(
                f"a cron entry {entry.name} is declared already; give one of them another `name`"
            )
        self._entries[entry.name] = entry


async def register(
    entries: Iterable[Scheduled],
    client: Client,
    backoff: Backoff,
    *,
    owner: str | None = None,
    prune: bool = False,
) -> None:
    """Register entries, or replace those of the same names, once the server can be reached. An
    entry that the server finds wrong is logged, and the worker works without it. Raises
    `SettingError` if the worker's key may not register one; then none is registered."""
    entries = tuple(entries)
    if len(entries) > 1:
        await _require_right(entries, client, backoff)
    for entry in entries:
        try:
            await backoff.retry(partial(put, entry, client, owner), (Unreachable,))
        except PermissionDenied as denied:
            raise SettingError(f"the cron entry {entry.name} is refused: {denied}") from denied
        except Refused as refused:
            log.error("the cron entry %s is refused: %s", entry.name, refused)
        else:
            log.info("the cron entry %s is registered", entry.name)
    if owner is not None:
        await _look_for_removed(entries, client, backoff, owner, prune=prune)


async def _require_right(entries: Iterable[Scheduled], client: Client, backoff: Backoff) -> None:
    """Raise `SettingError` if some of the entries are on the server as another key's."""
    try:
        known = await backoff.retry(client.list_crons, (Unreachable,))
    except Refused:
        # The server has no such list; it checks each registration.
        return
    names = {entry.name for entry in entries}
    foreign = sorted(entry.name for entry in known if entry.name in names and not entry.may_change)
    if foreign:
        raise SettingError(
            f"the cron entries {', '.join(foreign)} are another key's: allowed are other names, "
            "the key that registered them, and keys of operators"
        )


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
    entries: Iterable[Scheduled], client: Client, backoff: Backoff, owner: str, *, prune: bool
) -> None:
    names = {entry.name for entry in entries}

    async def look() -> None:
        for cron in await client.list_crons():
            if cron.meta.get(OWNER) != owner or cron.name in names:
                continue
            if not prune:
                log.warning(
                    "the cron entry %s of %s is not in the code any more; delete it, or start the "
                    "worker with --prune-cron",
                    cron.name,
                    owner,
                )
                continue
            with contextlib.suppress(NotFound):
                await client.delete_cron(cron.name)
            log.info("the cron entry %s, which is not in the code any more, is deleted", cron.name)

    try:
        await backoff.retry(look, (Unreachable,))
    except Refused as refused:
        log.error("the cron entries of %s cannot be compared with the code: %s", owner, refused)


def _owned(options: Options, owner: str | None) -> Options:
    if owner is None:
        return options
    return {**options, "meta": {**options.get("meta", {}), OWNER: owner}}
