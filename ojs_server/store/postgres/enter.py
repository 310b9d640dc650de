"""Register a node with the database before its first transaction."""

from typing import Final

from ojs_server.store.postgres.bounded import BoundedConnection
from ojs_server.store.postgres.connect import plan_by_index
from ojs_server.store.postgres.migrate import alone
from ojs_server.store.postgres.statements import STATEMENTS
from ojs_server.store.records import POSITION_BITS

# A node that has not been seen for this long is taken for gone; if it is not, nothing is lost.
GONE_MS: Final = 86_400_000


def enter(connection: BoundedConnection, node: str) -> None:
    """Register the node, raise event positions if needed, and merge the counters of dead nodes."""
    with alone(connection):
        plan_by_index(connection, local=True)
        _raise_positions(connection)
        bound = {"node": node, "gone_ms": GONE_MS}
        for name in ("enter", "fold_counts", "forget_nodes"):
            connection.execute(STATEMENTS[name].sql.encode(), bound)


def enter_again(connection: BoundedConnection) -> None:
    """Raise event positions if needed: behind a new connection there may be another cluster."""
    connection.execute("BEGIN")
    plan_by_index(connection, local=True)
    _raise_positions(connection)
    connection.execute("COMMIT")


def _raise_positions(connection: BoundedConnection) -> None:
    """Make the next position higher than all that are stored.

    Positions begin with the number of a transaction, which a database cluster counts for
    itself: after a dump is restored into another cluster the count may be far behind.
    """
    row = connection.execute(STATEMENTS["last_position"].sql.encode()).fetchone()
    used = (row[0] if row else 0) >> POSITION_BITS
    connection.execute(STATEMENTS["raise_positions"].sql.encode(), {"used": used})
