"""The limits of one worker process."""

import os

import pytest

from ojs_worker.config import Config, SettingError
from ojs_worker.running import recycling
from ojs_worker.running.recycling import RecyclingLimits, recycling_limits
from ojs_worker.settings import load


def test_the_last_job_is_told() -> None:
    limits = RecyclingLimits(2, None, lambda others: 10**12)
    assert limits.left == 2
    assert [limits.begun(), limits.begun()] == [False, True]
    assert limits.excess(()) == 0


def test_without_limits_there_is_no_last_job() -> None:
    limits = recycling_limits(Config())
    assert not any(limits.begun() for _ in range(1000))
    assert limits.left > 10**6


def test_memory_is_compared_with_that_of_all_processes() -> None:
    limits = RecyclingLimits(None, 100, lambda others: 60 * (1 + len(list(others))))
    assert limits.excess(()) == 0
    assert limits.excess([7]) == 120
    assert not limits.begun()


def test_the_memory_of_processes_is_told() -> None:
    alone = recycling.memory()
    assert alone > 10 * 1024**2
    assert recycling.memory([os.getpid()]) > 1.5 * alone
    assert recycling.memory([2**22 + 1]) < 1.5 * alone


def test_where_memory_is_not_told_a_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recycling, "memory", lambda: 0)
    with pytest.raises(SettingError, match="--max-memory"):
        recycling_limits(Config(max_memory=1024**3))


@pytest.mark.parametrize(
    ("given", "size"),
    [("500M", 500 << 20), ("1.5 GiB", 1536 << 20), ("2gb", 2 << 30), ("2048K", 2 << 20)],
)
def test_sizes_have_units(given: str, size: int) -> None:
    assert load({"max_memory": given}, {}, {}).max_memory == size


@pytest.mark.parametrize("given", ["much", "", "12", "-5M", "1X", "5000T"])
def test_a_wrong_size_is_refused(given: str) -> None:
    with pytest.raises(SettingError, match="must be a size of at least 1M"):
        load({"max_memory": given}, {}, {})


def test_a_worker_in_code_has_no_processes_of_its_own() -> None:
    with pytest.raises(SettingError, match="is an option of ojs-worker: --workers"):
        load({}, {"workers": 2}, {})
