"""The outbox: jobs are written to a table of the program's own database, in its transaction, and a
relay sends them to a server.

    from ojs_worker import outbox

    with sqlite3.connect("shop.db") as connection:
        connection.execute("INSERT INTO orders VALUES (1)")
        outbox.enqueue_blocking(connection, send_email, "ada@example.org")

A connection is one of psycopg, asyncpg, sqlite3, aiosqlite, PyMySQL, SQLAlchemy (or a session of
it) or Django. `ojs outbox run` is the relay, or `Relay` of `ojs_worker.outbox.relay` in the process
of the program.
"""

from ojs_worker.connections import NoTransaction
from ojs_worker.outbox.tables import statements, undo
from ojs_worker.outbox.writing import NoTable, enqueue, enqueue_blocking

__all__ = ["NoTable", "NoTransaction", "enqueue", "enqueue_blocking", "statements", "undo"]
