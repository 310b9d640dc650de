"""Open a store from a database URL."""

from typing import Final
from urllib.parse import unquote, urlsplit

from ojs_server.environment import Environment
from ojs_server.store.base import Clock, Store

# Default time limit for an answer of PostgreSQL.
ANSWER_S: Final = 5.0
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
    answer_s: float = ANSWER_S,
    at_once: bool = True,
) -> Store:
    """Open the store that a setting names; the drivers are loaded when they are needed.

    `answer_s` is how long a PostgreSQL may take to answer; it is left to `open` unless `at_once`.
    """
    path = _file_of(url)
    if path is None:
        from ojs_server.store.postgres.store import PostgresStore

        return PostgresStore(
            url,
            environment=environment,
            clock=clock,
            node=node,
            migrations=migrations,
            listen_url=listen_url,
            answer_s=answer_s,
            at_once=at_once,
        )
    from ojs_server.store.sqlite.store import SqliteStore

    return SqliteStore(
        path,
        environment=environment,
        clock=clock,
        node=node or "local",
        migrations=migrations,
    )


def check_schema(url: str) -> None:
    """Raise SchemaError unless a database has the schema of this program; changes nothing.

    A server may run meanwhile.
    """
    path = _file_of(url)
    if path is None:
        from ojs_server.store.postgres.migrate import check_database

        check_database(url)
    else:
        from ojs_server.store.sqlite.migrate import check_file

        check_file(path)


def _file_of(url: str) -> str | None:
    """Return the file of a SQLite store, None for PostgreSQL; refuses other databases."""
    scheme, separator, _ = url.partition("://")
    if not separator:
        return url
    if scheme in ("postgresql", "postgres"):
        return None
    if scheme != "sqlite":
        raise ValueError(f"{scheme}:// is not a database that can be used; use {FORMS}")
    return sqlite_path(url)


def sqlite_path(url: str) -> str:
    """Return the path of a `sqlite:///PATH` URL, which is all that follows the third slash."""
    parts = urlsplit(url)
    path = unquote(parts.path.removeprefix("/"))
    if parts.netloc or parts.query or parts.fragment or not path:
        raise ValueError(f"{url} names no file; use {FORMS}")
    return path
