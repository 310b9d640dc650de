"""Ports that are reserved for servers."""

import socket

import pytest

from conformance.ports import reserve_port


def test_a_server_that_names_the_port_can_listen() -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", reserve_port()))
        server.listen()


def test_the_system_keeps_the_port_for_it() -> None:
    # Without the option that servers set, a bind is judged as one that asks for any port.
    with socket.socket() as other, pytest.raises(OSError, match="Address already in use"):
        other.bind(("127.0.0.1", reserve_port()))
