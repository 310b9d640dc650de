"""Refusal of HTTP/2 clients at the HTTP port; clients of gRPC are told the right port."""

import logging
from typing import Final

from ojs_server.domain.errors import InvalidRequest
from ojs_server.http.services import Ports

# What a client of HTTP/2 sends first; no request of HTTP/1.1 begins so.
PREFACE: Final = b"PRI * HTTP/2.0\r\n"

log = logging.getLogger("ojs.http")


def wrong_port(ports: Ports) -> InvalidRequest:
    """The refusal of such a client, which the log has, too.

    In HTTP/1.1: by its first bytes a client of gRPC knows what it has met, and tries no further.
    """
    where = "with --grpc-port" if ports.grpc is None else f"on port {ports.grpc}"
    sentence = f"this port speaks HTTP/1.1; gRPC is served {where}"
    log.warning("a client of HTTP/2 or gRPC called the port of HTTP: %s", sentence)
    return InvalidRequest(sentence)
