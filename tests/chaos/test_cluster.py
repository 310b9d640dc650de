"""A PostgreSQL server that is killed comes back."""

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.chaos import processes
from tests.chaos.cluster import Cluster
from tests.postgres_programs import chosen

pytestmark = pytest.mark.store_postgres


@pytest.fixture
def cluster(run_folder: Path) -> Iterator[Cluster]:
    made = Cluster(chosen(run_folder), run_folder, flush_ms=0, standby=False)
    made.start()
    yield made
    made.destroy()


def test_a_process_that_outlives_the_first_one_does_not_keep_it_away(cluster: Cluster) -> None:
    first = processes.postmaster(cluster.primary)
    connection = cluster.connect()
    # One that waits for what never comes.
    processes.signalled([connection.info.backend_pid], signal.SIGSTOP)
    processes.signalled([first], signal.SIGKILL)
    cluster.restart()
    connection.close()
    with closing(cluster.connect()) as again:
        assert again.execute("SELECT 1").fetchone() == (1,)
    assert processes.postmaster(cluster.primary) != first
