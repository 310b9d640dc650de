"""Fixtures of the tests of HTTP: the real application behind the connections."""

from tests.http.conftest import client, serve, server

__all__ = ["client", "serve", "server"]
