"""The libraries by which programs reach their databases.

Each of `BLOCKING` and `ASYNCHRONOUS` begins a transaction, hands its connection or session on, and
commits at the end. A URL is that of a fixture; `alchemy_url` makes one of SQLAlchemy of it.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any, Final

import aiosqlite
import asyncpg
import psycopg
import pymysql
import sqlalchemy
from django.db import transaction
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from tests.django.project import beside

# Makes a transaction with one call, and rolls it back if it is told so.
Transact = Callable[..., str]
Way = Callable[[str], Any]
_ENGINES: Final = {"postgresql": "postgresql", "sqlite": "sqlite3", "mysql": "mysql"}


class Undone(Exception):
    """The program rolls its transaction back."""


def dialect_of(url: str) -> str:
    """The kind of database that a URL is of."""
    return url.partition("://")[0].partition("+")[0]


def parts(url: str) -> dict[str, Any]:
    """The parts of a URL, as libraries take them that do not take it whole."""
    parsed = sqlalchemy.make_url(url)
    return {
        "user": parsed.username,
        "host": parsed.host,
        "port": parsed.port,
        "database": parsed.database,
    }


def search_path(url: str) -> str:
    """The schema that a URL of PostgreSQL names."""
    return str(sqlalchemy.make_url(url).query["options"]).partition("=")[2]


def alchemy_url(url: str, driver: str) -> sqlalchemy.URL:
    """The URL for SQLAlchemy with a driver."""
    return sqlalchemy.make_url(url).set(drivername=f"{dialect_of(url)}+{driver}")


@contextmanager
def alchemy(url: str, **options: Any) -> Iterator[sqlalchemy.Engine]:
    """An engine of SQLAlchemy."""
    driver = {"postgresql": "psycopg", "sqlite": "pysqlite", "mysql": "pymysql"}[dialect_of(url)]
    engine = sqlalchemy.create_engine(alchemy_url(url, driver), **options)
    try:
        yield engine
    finally:
        engine.dispose()


@asynccontextmanager
async def async_alchemy(url: str, driver: str) -> AsyncIterator[AsyncEngine]:
    """An asynchronous engine of SQLAlchemy."""
    made, options = alchemy_url(url, driver), {}
    if driver == "asyncpg":
        options = {"server_settings": {"search_path": search_path(url)}}
        made = made.set(query={})
    engine = create_async_engine(made, connect_args=options)
    try:
        yield engine
    finally:
        await engine.dispose()


@contextmanager
def by_psycopg(url: str) -> Iterator[Any]:
    with psycopg.connect(url) as connection:
        yield connection


@contextmanager
def by_sqlite3(url: str) -> Iterator[Any]:
    with closing(sqlite3.connect(parts(url)["database"])) as connection, connection:
        yield connection


@contextmanager
def by_pymysql(url: str) -> Iterator[Any]:
    with pymysql.connect(**parts(url)) as connection:
        yield connection
        connection.commit()


@contextmanager
def by_sqlalchemy(url: str) -> Iterator[Any]:
    with alchemy(url) as engine, engine.begin() as connection:
        yield connection


@contextmanager
def by_a_session(url: str) -> Iterator[Any]:
    with alchemy(url) as engine, Session(engine) as session, session.begin():
        yield session


@contextmanager
def by_django(url: str) -> Iterator[Any]:
    with django_of(url) as connection, transaction.atomic(using=connection.alias):
        yield connection


@contextmanager
def django_of(url: str) -> Iterator[Any]:
    """Django's connection, in autocommit."""
    made, dialect = parts(url), dialect_of(url)
    given: dict[str, Any] = {
        "ENGINE": f"django.db.backends.{_ENGINES[dialect]}",
        "NAME": made["database"],
    }
    if dialect == "mysql":
        pymysql.install_as_MySQLdb()
    if dialect != "sqlite":
        given |= {name.upper(): made[name] for name in ("user", "host", "port")}
    if dialect == "postgresql":
        given["OPTIONS"] = {"options": f"-csearch_path={search_path(url)}"}
    with beside("program", given) as connection:
        yield connection


@asynccontextmanager
async def by_async_psycopg(url: str) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        yield connection


@asynccontextmanager
async def asyncpg_of(url: str) -> AsyncIterator[Any]:
    """A connection of asyncpg, in autocommit."""
    path = {"search_path": search_path(url)}
    connection = await asyncpg.connect(**parts(url), server_settings=path)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def by_asyncpg(url: str) -> AsyncIterator[Any]:
    async with asyncpg_of(url) as connection, connection.transaction():
        yield connection


@asynccontextmanager
async def by_aiosqlite(url: str) -> AsyncIterator[Any]:
    async with aiosqlite.connect(parts(url)["database"]) as connection:
        yield connection
        await connection.commit()


@asynccontextmanager
async def by_async_sqlalchemy(url: str) -> AsyncIterator[Any]:
    driver = {"postgresql": "asyncpg", "sqlite": "aiosqlite"}[dialect_of(url)]
    async with async_alchemy(url, driver) as engine, engine.begin() as connection:
        yield connection


@asynccontextmanager
async def by_an_async_session(url: str) -> AsyncIterator[Any]:
    driver = {"postgresql": "psycopg", "sqlite": "aiosqlite"}[dialect_of(url)]
    async with (
        async_alchemy(url, driver) as engine,
        AsyncSession(engine) as session,
        session.begin(),
    ):
        yield session


ASYNCHRONOUS: Final[tuple[Way, ...]] = (
    *(by_async_psycopg, by_asyncpg, by_aiosqlite),
    *(by_async_sqlalchemy, by_an_async_session),
)
OF_POSTGRES: Final[tuple[Way, ...]] = (
    *(by_psycopg, by_sqlalchemy, by_a_session, by_django),
    *(by_async_psycopg, by_asyncpg, by_async_sqlalchemy, by_an_async_session),
)
OF_SQLITE: Final[tuple[Way, ...]] = (
    *(by_sqlite3, by_sqlalchemy, by_a_session, by_django),
    *(by_aiosqlite, by_async_sqlalchemy, by_an_async_session),
)
OF_MYSQL: Final[tuple[Way, ...]] = (by_pymysql, by_sqlalchemy, by_a_session, by_django)


def transacting(way: Way, url: str, blocking: Any, asynchronous: Any) -> Transact:
    """Return what calls one of two functions in a transaction of a library."""

    def transact(*given: Any, undone: bool = False, **named: Any) -> str:
        with way(url) as connection:
            job_id: str = blocking(connection, *given, **named)
            if undone:
                raise Undone
        return job_id

    def transact_in_loop(*given: Any, undone: bool = False, **named: Any) -> str:
        async def run() -> str:
            async with way(url) as connection:
                job_id: str = await asynchronous(connection, *given, **named)
                if undone:
                    raise Undone
            return job_id

        return asyncio.run(run())

    return transact_in_loop if way in ASYNCHRONOUS else transact
