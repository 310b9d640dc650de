"""Server processes for measurements."""

import os
from pathlib import Path

from benchmarks.stand import running


def test_a_server_has_the_core_that_is_named() -> None:
    core = min(os.sched_getaffinity(0))
    with running("ojs_server", ":memory:", core=core) as served:
        threads = [int(path.name) for path in Path(f"/proc/{served.process}/task").iterdir()]
        assert len(threads) > 1
        assert {frozenset(os.sched_getaffinity(one)) for one in threads} == {frozenset({core})}
