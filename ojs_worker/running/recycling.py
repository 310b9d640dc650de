"""Limits after which a worker process is recycled: the jobs that it has done, and its memory."""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from ojs_worker.config import Config, SettingError

_STATM: Final = "/proc/{}/statm"
Memory = Callable[[Iterable[int]], int]


class RecyclingLimits:
    """The limits of one worker process. Both are None where they are not set."""

    def __init__(self, max_jobs: int | None, max_memory: int | None, memory: Memory) -> None:
        self.max_jobs: Final = max_jobs
        self._max_memory = max_memory
        self._memory = memory
        # The number of jobs that it may still begin.
        self.left = sys.maxsize if max_jobs is None else max_jobs

    def begun(self) -> bool:
        """Count a job; returns True if it is the last one."""
        self.left -= 1
        return self.left <= 0

    def excess(self, others: Iterable[int]) -> int:
        """Return the bytes of memory of this process and others of its own, if that is more than
        they may have together, and 0 if it is not."""
        if self._max_memory is None:
            return 0
        size = self._memory(others)
        return size if size > self._max_memory else 0


def recycling_limits(config: Config) -> RecyclingLimits:
    """Return the limits that the settings name; raises `SettingError` if this system does not tell
    the memory of a process."""
    if config.max_memory is not None and memory() == 0:
        raise SettingError("--max-memory: this system does not tell the memory of a process")
    return RecyclingLimits(config.max_jobs, config.max_memory, memory)


def memory(others: Iterable[int] = ()) -> int:
    """Return the resident bytes of this process and others; elsewhere than on Linux the most that
    this one has ever had."""
    if not os.path.exists(_STATM.format("self")):
        return _peak()
    return sum(_resident(str(process)) for process in ("self", *others))


def _resident(process: str) -> int:
    try:
        pages = Path(_STATM.format(process)).read_text(encoding="ascii").split()[1]
    except OSError:
        # The process has ended meanwhile.
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _peak() -> int:
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
