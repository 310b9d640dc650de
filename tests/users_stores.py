"""The stores that users have, for folders of tests whose conftest imports `store_url` from here.

The tests on the PostgreSQL of the distribution are a run of their own: `make test-distribution`.
"""

import pytest

from tests.conftest import url_of_store

store_url = pytest.fixture(params=["sqlite", "distribution"])(url_of_store)
