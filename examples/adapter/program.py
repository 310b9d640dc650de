"""A program for `ojs-conformance adapter`, to be copied: orders in PostgreSQL, a job about each.

The first argument says where its database is, the second which schema the server has there. The
judge tells it by lines of JSON what to do (docs/adapters.md). What differs between adapters is in
`enqueue`, `enqueue_at_once` and `relay`, and in what `hello` answers.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import psycopg

from ojs_worker import BlockingClient, OjsError, transactional

Connection = psycopg.Connection[Any]
Asked = Mapping[str, Any]
# Pauses where the judge has asked for that.
Reach = Callable[[str], None]

SCHEMA = sys.argv[2] if len(sys.argv) > 2 else transactional.SCHEMA
ABILITIES = {
    "name": "ojs_worker.transactional",
    "points": ["began", "row-written", "enqueued", "committed"],
    "relay": False,
    "ordered": True,
}


class Undone(Exception):
    """An exception that rolls a transaction or a savepoint back."""


def enqueue(connection: Connection, asked: Asked, row: str) -> None:
    """Enqueue the job about a row in the transaction that is open."""
    job_type, queue = asked["type"], asked["queue"]
    transactional.enqueue_blocking(connection, job_type, [row], queue=queue, in_schema=SCHEMA)


def enqueue_at_once(asked: Asked) -> None:
    """Enqueue a job outside of any transaction."""
    with BlockingClient(os.environ["OJS_URL"]) as client:
        client.enqueue(asked["type"], [asked["row"]], queue=asked["queue"])


def relay(connection: Connection, reach: Reach) -> dict[str, Any]:
    """Send what waits in an outbox, once, passing `relay-read`, `relay-sent` and `relay-marked`."""
    return {"unsupported": "the server reads the jobs where they are"}


def write(connection: Connection, asked: Asked, rows: list[str], reach: Reach) -> None:
    """Write rows, and enqueue a job about each."""
    for row in rows:
        connection.execute("INSERT INTO judged_orders VALUES (%s)", [row])
        reach("row-written")
        enqueue(connection, asked, row)
        reach("enqueued")


def end(ends: str) -> None:
    """Leave the innermost transaction or savepoint as the judge says."""
    if ends == "rollback":
        raise psycopg.Rollback
    if ends == "raise":
        raise Undone


def transaction(connection: Connection, asked: Asked, reach: Reach) -> None:
    """Carry out one transaction, with a savepoint in it if the judge wants one."""
    with suppress(Undone), connection.transaction():
        reach("began")
        write(connection, asked, asked["rows"], reach)
        if asked.get("nested"):
            with suppress(Undone), connection.transaction():
                write(connection, asked, asked["nested"], reach)
                end(asked["nested_ends"])
        end(asked["ends"])
    if asked["ends"] == "commit":
        reach("committed")


def rows(connection: Connection, names: list[str]) -> list[str]:
    """Return those of these rows that are there."""
    found = connection.execute("SELECT id FROM judged_orders WHERE id = ANY(%s)", [names])
    return [name for (name,) in found]


def carry_out(connection: Connection, asked: Asked) -> dict[str, Any]:
    """Do what the judge asks for; return the members of the answer."""
    waiting = asked.get("pause_at")

    def reach(point: str) -> None:
        nonlocal waiting
        if point == waiting:
            waiting = None
            tell(asked, {"at": point})
            sys.stdin.readline()

    match asked["do"]:
        case "hello":
            return {"hello": ABILITIES}
        case "transaction":
            transaction(connection, asked, reach)
        case "enqueue":
            enqueue_at_once(asked)
        case "relay":
            return relay(connection, reach)
        case "rows":
            return {"rows": rows(connection, asked["of"])}
        case other:
            return {"unsupported": f"it does not know {other}"}
    return {"done": True}


def tell(asked: Asked, answer: Mapping[str, Any]) -> None:
    """Answer a request."""
    print(json.dumps({"id": asked["id"], **answer}), flush=True)


def main() -> None:
    """Do what each line says, until there are no more."""
    with psycopg.connect(sys.argv[1], autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS judged_orders (id text PRIMARY KEY)")
        for line in sys.stdin:
            asked = json.loads(line)
            try:
                answer = carry_out(connection, asked)
            except (OjsError, psycopg.Error) as error:
                answer = {"failed": f"{type(error).__name__}: {error}"}
            tell(asked, answer)


if __name__ == "__main__":
    main()
