"""The stores of the end-to-end tests."""

from tests.users_stores import store_url

__all__ = ["store_url"]
