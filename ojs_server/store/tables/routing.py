"""Canary routing: the share of each version of a job type."""

from typing import Final

import msgspec

from ojs_server.domain.jobs.version_routing import Routing, Routings
from ojs_server.store.tables.statements import Statements, Writing
from ojs_wire.codec import encode

_routing: Final = msgspec.json.Decoder(Routing)


class RoutingWrites(Writing):
    """Routing in a write transaction."""

    # By type, as it was when the transaction began.
    routings: Routings

    def save_routing(self, job_type: str, routing: Routing) -> None:
        """Set or replace the routing of a type."""
        self.run("save_routing", type=job_type, config=encode(routing))
        self.routings = {**self.routings, job_type: routing}
        self.configs_changed()

    def delete_routing(self, job_type: str) -> None:
        """Forget the routing of a type."""
        self.run("delete_routing", type=job_type)
        self.routings = {
            name: routing for name, routing in self.routings.items() if name != job_type
        }
        self.configs_changed()

    def all_routings(self) -> Routings:
        """The routing of every type, as it is stored."""
        return {row[0]: _routing.decode(row[1]) for row in self.all("routings")}


class RoutingReads(Statements):
    """Routing outside of a transaction."""

    def routing(self, job_type: str) -> Routing | None:
        """The routing of a type."""
        rows = self.all("routing_of", type=job_type) if self.can_hold(job_type) else ()
        return _routing.decode(rows[0][0]) if rows else None
