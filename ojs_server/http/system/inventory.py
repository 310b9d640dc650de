"""The names of queues and job types in the manifest, of all tenants or of one."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from ojs_server.http.shared_read import SharedRead
from ojs_server.store.base import Reader

# Most names of each kind; other calls list all of them.
MOST: Final = 100
# Most remembered tenants, since without keys anybody may name one.
TENANTS: Final = 100

Ask = Callable[[Callable[[Reader], Any]], Awaitable[Any]]


class Inventory(msgspec.Struct, frozen=True):
    """The names of queues and of their job types."""

    queues: list[str]
    job_types: list[str]


class Inventories:
    """The inventories of the tenants that asked last, each read at most every few seconds."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._known: dict[str | None, SharedRead[Inventory]] = {}

    async def of(self, tenant: str | None) -> Inventory:
        """Return the inventory of a tenant, or of all jobs."""
        shared = self._known.pop(tenant, None) or SharedRead(lambda: self._read(tenant))
        # Keep the most recently used at the end.
        self._known[tenant] = shared
        if len(self._known) > TENANTS:
            del self._known[next(iter(self._known))]
        return await shared.latest()

    async def _read(self, tenant: str | None) -> Inventory:
        found: Inventory = await self._ask(lambda reader: inventory(reader, tenant))
        return found


def inventory(reader: Reader, tenant: str | None) -> Inventory:
    """Read the names of queues, and the types of their jobs that can be delivered.

    Schemas are shared by all tenants, so the types of schemas are left out for a tenant.
    """
    found = reader.queues() if tenant is None else reader.queues_of_tenant(tenant)
    queues = [queue.name for queue in found[:MOST]]
    types = set(reader.available_types(queues, tenant))
    if tenant is None:
        types.update(schema.mark.type for schema in reader.schemas())
    return Inventory(queues, sorted(types)[:MOST])
