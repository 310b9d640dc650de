"""Ports that are reserved for servers."""

import errno
import socket
from typing import NoReturn

import pytest

from conformance.processes.ports import given_by_system, reserve_port


def test_a_server_that_names_the_port_can_listen() -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", reserve_port()))
        server.listen()


def test_the_system_keeps_the_port_for_it() -> None:
    # Without the option that servers set, a bind is judged as one that asks for any port.
    with socket.socket() as other, pytest.raises(OSError, match="Address already in use"):
        other.bind(("127.0.0.1", reserve_port()))


def test_the_system_gives_the_port_to_nobody_of_its_own_accord() -> None:
    low, high = given_by_system()
    assert not low <= reserve_port() <= high


def test_where_no_socket_can_be_made_it_does_not_try_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> NoReturn:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(OSError, match="Too many open files"):
        reserve_port()
