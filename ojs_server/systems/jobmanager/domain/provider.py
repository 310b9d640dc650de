"""Providers: workers that answer read requests of clients through the job manager API.

read ──▶ asked ── the worker answers ──▶ kept for a while
            ├──── no answer: a later read asks again
            └──── the worker connects again: it is asked again at once
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec

from ojs_server.domain.errors import NotFound, invalid
from ojs_server.domain.jobs.job import Event
from ojs_server.systems.jobmanager.domain.names import GLOBAL, INTERNAL, FullName
from ojs_wire import codec
from ojs_wire.codes import Code

KEPT_MS: Final = 300_000
IN_FLIGHT_MS: Final = 30_000
# Default and longest wait of a read, in seconds.
WAIT_S: Final = 5
MAX_WAIT_S: Final = 30
MAX_PARAMS: Final = 4096
_NAMES: Final = UUID("6f6a7300-7072-5f76-8964-000000000034")
# Not a code of OJS: only the job manager API answers it.
TIMEOUT: Final = Code("provider_timeout", 504, True, "provider_timeout")

CHANGED: Final = "providers.changed"
REQUESTED: Final = "provider.requested"
ANSWERED: Final = "provider.answered"
JOINED: Final = "provider.joined"


class Provider(msgspec.Struct, frozen=True):
    """A provider of a room: its worker, and the type of its answers."""

    id: str
    room: str
    category: str
    name: str
    schema: bytes
    content_type: str
    worker_id: str
    principal: str | None
    created_at: int

    @property
    def full_name(self) -> FullName:
        """Return its full name: room, category and name."""
        return FullName(self.room, self.category, self.name)


class ProviderResult(msgspec.Struct, frozen=True):
    """A request to a provider, the time until which it is not sent again, and the answer."""

    provider_id: str
    request_hash: str
    until: int
    content: bytes | None = None


def id_of(name: FullName) -> str:
    """Return the id of a provider; equal names have equal ids."""
    return str(uuid5(_NAMES, str(name)))


def visible_from(room: str) -> tuple[str, ...]:
    """Return the rooms whose providers are visible in a room."""
    return (room,) if room == GLOBAL else (room, GLOBAL)


def may_read(room: str, name: FullName) -> bool:
    """Tell whether a provider may be read from a room."""
    return room == GLOBAL or name.room in visible_from(room)


def unknown(name: str) -> NotFound:
    """Return the error for a provider that does not exist."""
    return NotFound(
        f"there is no provider {name[:300]}",
        details={"resource_type": "provider", "resource_id": name[:300]},
    )


def parse_name(text: str) -> FullName:
    """Split the full name of a provider into its parts."""
    parts = text.split(":", 2)
    if len(parts) != 3:
        raise unknown(text)
    return FullName(*parts)


def parse_room(room: str) -> str:
    """Check the room that a provider is registered in."""
    if room == INTERNAL:
        raise invalid("room", f"must be {GLOBAL} or a room: {INTERNAL} has no providers")
    return room


def parse_part(field: str, value: str) -> str:
    """Check the category or the name of a provider."""
    if not 0 < len(value) <= 100 or ":" in value or "/" in value or not value.isprintable():
        raise invalid(field, "must be 1 to 100 printable characters without `:` and `/`")
    return value


def canonical_params(query: Mapping[str, str]) -> bytes:
    """Return the parameters of a read as canonical text, independent of their order."""
    params = codec.canonical(dict(query))
    if len(params) > MAX_PARAMS:
        raise invalid("params", f"must not exceed {MAX_PARAMS} bytes")
    return params


def hash_of(params: bytes) -> str:
    """Return the hash of a read's parameters."""
    return hashlib.sha256(params).hexdigest()


def changed(room: str) -> Event:
    """Build the event that the providers of a room have changed."""
    return Event(CHANGED, room, None, None, codec.encode({"room": room}))


def requested(provider: Provider, request_hash: str, params: bytes, *, again: bool) -> Event:
    """Build the event that a provider is requested; `again` if it may have missed the request."""
    data: dict[str, Any] = {
        "provider_name": str(provider.full_name),
        "request_id": request_hash,
        "params": params.decode(),
    }
    if again:
        data["again"] = True
    return Event(REQUESTED, provider.id, None, None, codec.encode(data))


def answered(provider: Provider, request_hash: str) -> Event:
    """Build the event that a provider has answered."""
    data: dict[str, Any] = {
        "provider_name": str(provider.full_name),
        "request_hash": request_hash,
        "room": provider.room,
    }
    return Event(ANSWERED, provider.id, None, None, codec.encode(data))


def joined(provider: Provider) -> Event:
    """Build the event that a worker listens to the requests of a provider from now on."""
    return Event(JOINED, provider.id, None, None, codec.encode({"room": provider.room}))
