"""Running things on several nodes at the same time."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

Apart = Callable[..., Future[Any]]


@pytest.fixture
def apart() -> Iterator[Apart]:
    """Runs things at the same time, each in a thread of its own."""
    with ThreadPoolExecutor(8) as pool:
        yield pool.submit
