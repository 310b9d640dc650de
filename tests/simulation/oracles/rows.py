"""Rows of the database, read beside the server."""

from typing import Any

import apsw

from tests.simulation.world import World


def of(world: World, sql: str, **bound: Any) -> list[dict[str, Any]]:
    """Return rows as they are committed now."""
    connection = _opened(world)
    try:
        cursor = connection.execute(sql, bound)
        names = None
        found = []
        for row in cursor:
            names = names or [column[0] for column in cursor.description]
            found.append(dict(zip(names, row, strict=True)))
        return found
    finally:
        connection.close()


def everything(world: World) -> bytes:
    """Return all rows of all tables, in an order that is the same in each run."""
    connection = _opened(world)
    try:
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
        ).fetchall()
        return repr(
            [
                (table, connection.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2').fetchall())
                for (table,) in tables
            ]
        ).encode()
    finally:
        connection.close()


def _opened(world: World) -> apsw.Connection:
    return apsw.Connection(str(world.file), flags=apsw.SQLITE_OPEN_READONLY)
