"""Programs and databases that the machine does not have."""

import os
from typing import NoReturn

import pytest


def not_run(why: str) -> NoReturn:
    """Skip the test, which the end of the run tells; fail in CI, where nothing may be missing."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(f"NOT RUN: {why}")
