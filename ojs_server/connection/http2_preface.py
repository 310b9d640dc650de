"""Refusal of HTTP/2 clients at the HTTP port; clients of gRPC are told the right port."""

import logging
from typing import Final

from ojs_server.connection.ports import Ports
from ojs_server.domain.errors import InvalidRequest

# The first bytes of an HTTP/2 client; no request of HTTP/1.1 begins like this.
PREFACE: Final = b"PRI * HTTP/2.0\r\n"

log = logging.getLogger("ojs.http")


def wrong_port(ports: Ports) -> InvalidRequest:
    """Return the answer to such a client, which is also logged.

    It is in HTTP/1.1: a client of gRPC recognises that by the first bytes, and does not retry.
    """
    where = "with --grpc-port" if ports.grpc is None else f"on port {ports.grpc}"
    sentence = f"this port speaks HTTP/1.1; gRPC is served {where}"
    log.warning("a client of HTTP/2 or gRPC called the port of HTTP: %s", sentence)
    return InvalidRequest(sentence)
