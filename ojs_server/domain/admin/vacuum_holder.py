"""Sessions, transactions and slots that keep the database from removing old row versions."""

from typing import Literal

import msgspec


class VacuumHolder(msgspec.Struct, frozen=True):
    """A session, a prepared transaction or a replication slot that has held vacuum back for long.

    `name` is the process id, the identifier of the transaction or the name of the slot. With
    `at_least` the database hides since when; it is how long this server has seen it.
    """

    kind: Literal["session", "prepared", "slot"]
    name: str
    application: str | None
    user: str | None
    # The age of its snapshot in transactions.
    transactions: int
    held_s: int
    at_least: bool = False


def sentence_of(holder: VacuumHolder) -> str:
    """Return a sentence that names it, in which foreign text is quoted."""
    match holder.kind:
        case "session":
            what = f"the session {holder.name} of {holder.user!r}, {holder.application!r},"
        case "prepared":
            what = f"the prepared transaction {holder.name!r} of {holder.user!r}"
        case _:
            what = f"the replication slot {holder.name!r}"
    return (
        f"{what} keeps PostgreSQL from removing old rows for {'at least ' * holder.at_least}"
        f"{holder.held_s} s"
    )
