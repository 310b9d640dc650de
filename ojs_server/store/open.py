"""Open a store from a database URL."""

from typing import Final
from urllib.parse import unquote, urlsplit

from ojs_server.environment import Environment
from ojs_server.store.base import Clock, Store

FORMS: Final = (
    "`:memory:`, a file path, sqlite:///PATH (sqlite:////PATH for an absolute one), "
    "postgresql://USER@HOST/NAME or postgres://USER@HOST/NAME"
)


def open_store(
    url: str,
    *,
    environment: Environment | None = None,
    clock: Clock | None = None,
    node: str | None = None,
    migrations: bool = True,
    listen_url: str | None = None,
) -> Store:
    """Open the store that a setting names; the drivers are loaded when they are needed."""
    scheme, separator, _ = url.partition("://")
    if separator and scheme in ("postgresql", "postgres"):
        from ojs_server.store.postgres.store import PostgresStore

        return PostgresStore(
            url,
            environment=environment,
            clock=clock,
            node=node,
            migrations=migrations,
            listen_url=listen_url,
        )
    if separator and scheme != "sqlite":
        raise ValueError(f"{scheme}:// is not a database that can be used; use {FORMS}")
    from ojs_server.store.sqlite.store import SqliteStore

    path = sqlite_path(url) if separator else url
    return SqliteStore(
        path,
        environment=environment,
        clock=clock,
        node=node or "local",
        migrations=migrations,
    )


def sqlite_path(url: str) -> str:
    """Return the path of a `sqlite:///PATH` URL, which is all that follows the third slash."""
    parts = urlsplit(url)
    path = unquote(parts.path.removeprefix("/"))
    if parts.netloc or parts.query or parts.fragment or not path:
        raise ValueError(f"{url} names no file; use {FORMS}")
    return path
