"""The stores of the end-to-end tests: SQLite, and the PostgreSQL that users have."""

import pytest

from tests.conftest import url_of_store


@pytest.fixture(params=["sqlite", "distribution"])
def store_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty store, once for each kind.

    The tests on the distribution's PostgreSQL are a run of their own: `make test-distribution`.
    """
    return url_of_store(request)
