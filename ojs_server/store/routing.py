"""The store contract's part about the routing of versions, which `base.py` takes in."""

from typing import Protocol

from ojs_server.domain.routing import Routing, Routings


class RoutingTx(Protocol):
    """Routing in a write transaction."""

    # By type, as it was when the transaction began.
    routings: Routings

    def save_routing(self, job_type: str, routing: Routing) -> None:
        """Set or replace the routing of a type."""

    def delete_routing(self, job_type: str) -> None:
        """Forget the routing of a type."""


class RoutingReader(Protocol):
    """Routing outside of a transaction."""

    def routing(self, job_type: str) -> Routing | None:
        """The routing of a type."""
