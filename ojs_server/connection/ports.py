"""Ports of a node."""

from ojs_server.connection.connection_limit import MOST_BY_DEFAULT


class Ports:
    """The ports that a node listens on, once it does; None for those that are closed."""

    http: int | None = None
    grpc: int | None = None
    # Most connections at the HTTP port.
    connections: int = MOST_BY_DEFAULT
