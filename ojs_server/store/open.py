"""Opening the store that a database setting names."""

from ojs_server.store.base import Clock, Store
from ojs_server.store.sqlite.store import SqliteStore


def open_store(
    url: str,
    *,
    clock: Clock | None = None,
    node: str | None = None,
    migrations: bool = True,
    listen_url: str | None = None,
) -> Store:
    """A store for `:memory:`, a path, `sqlite:///PATH` or `postgresql://…`."""
    return SqliteStore(url.removeprefix("sqlite:///"), clock=clock, migrations=migrations)
