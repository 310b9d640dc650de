"""Everything that is stored at the end, read once for all oracles."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from ojs_server.store.records import POSITION_BITS
from ojs_wire.values import parse_timestamp
from tests.simulation.oracles import rows

if TYPE_CHECKING:
    from tests.simulation.world import World

Row = dict[str, Any]


class StoredEvent(msgspec.Struct, frozen=True):
    """An event of the log."""

    place: int
    # The server's time, in milliseconds.
    at: int
    type: str
    subject: str
    queue: str | None
    job_type: str | None
    data: dict[str, Any]

    @property
    def transaction(self) -> int:
        """The number of its transaction."""
        return self.place >> POSITION_BITS

    def moment(self, name: str) -> int | None:
        """Return a moment of the data in milliseconds."""
        written = self.data.get(name)
        return None if written is None else parse_timestamp(written)


class Stored:
    """The rows of the database at one moment."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.head = head(world)
        # Read at once, so that they are of one moment.
        _ = self.events, self.jobs

    def rows(self, sql: str) -> list[Row]:
        """Return rows."""
        return rows.of(self.world, sql)

    @cached_property
    def events(self) -> list[StoredEvent]:
        """The event log up to that moment, in the order in which changes were committed."""
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        found = self.rows(
            "SELECT pos, at, type, subject, queue, job_type, data FROM events"
            f" WHERE pos <= {self.head} ORDER BY pos"
        )
        return [
            StoredEvent(
                row["pos"],
                row["at"],
                row["type"],
                row["subject"],
                row["queue"],
                row["job_type"],
                decode(row["data"]),
            )
            for row in found
        ]

    @cached_property
    def by_subject(self) -> dict[str, list[StoredEvent]]:
        """The events of each job, workflow, worker and so on."""
        found: dict[str, list[StoredEvent]] = {}
        for event in self.events:
            found.setdefault(event.subject, []).append(event)
        return found

    @cached_property
    def jobs(self) -> dict[str, Row]:
        """The jobs by their ids."""
        return {row["id"]: row for row in self.rows("SELECT * FROM jobs ORDER BY id")}


def head(world: "World") -> int:
    """Return the place of the newest event."""
    found: int = rows.of(world, "SELECT coalesce(max(pos), 0) AS pos FROM events")[0]["pos"]
    return found


def ended(events: list[StoredEvent], until: int) -> bool:
    """Tell whether a job with these events had ended at a place of the log."""
    over = False
    for event in events:
        if event.place > until:
            break
        if event.type in ("job.completed", "job.discarded", "job.cancelled"):
            over = True
        elif event.type == "dead_letter.retried":
            over = False
    return over
