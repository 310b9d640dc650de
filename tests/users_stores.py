"""The stores that users have, for tests that need not run on each version of PostgreSQL.

A folder's conftest may import `store_url` from here. The tests on the PostgreSQL of the
distribution are a run of their own: `make test-distribution`.
"""

from typing import Final

import pytest

from tests.conftest import url_of_store

STORES: Final = ("sqlite", "distribution")

store_url = pytest.fixture(params=STORES)(url_of_store)
# For single tests, which take long.
on_users_stores = pytest.mark.parametrize("store_url", STORES, indirect=True)
# For what comes before a store: requests that are read, shown or refused, and who may make them.
on_one_store = pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
