"""The store contract: waits for locked rows are bounded."""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from ojs_server.store.base import Store, StoreBusy
from tests.store.busy import PATIENCE_MS, impatient, locked
from tests.store.records import HandClock, a_job, put, whole


@pytest.fixture
def store(store_url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    with closing(impatient(store_url, clock, monkeypatch)) as store:
        yield store


def test_a_store_that_somebody_else_holds_is_waited_for_and_then_said_to_be_busy(
    store: Store, store_url: str
) -> None:
    with locked(store_url):
        for _ in range(2):
            begun = time.monotonic()
            with pytest.raises(StoreBusy):
                put(store, a_job("j1"))
            assert time.monotonic() - begun >= PATIENCE_MS / 1000 * 0.9
        store.ping()
    assert whole(store, "j1") is None
    put(store, a_job("j1"))
    assert whole(store, "j1") is not None
