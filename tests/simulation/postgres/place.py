"""A server and a database for duels outside pytest."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from ojs_server.store.postgres import connect
from tests import postgres_programs
from tests.kept import KeptConnection, end_all
from tests.postgres import Database, Run, shared_server
from tests.simulation.postgres.arena import Arena

_MEMORY: Final = Path("/dev/shm")


@contextmanager
def arena() -> Iterator[Arena]:
    """Start a server, and end it after the duels."""
    connect.DRIVER = KeptConnection
    if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free:
        tempfile.tempdir = str(_MEMORY)
    run = Run()
    try:
        programs = postgres_programs.chosen(run.folder)
        with closing(Database(shared_server(run.folder, "duels", programs))) as database:
            with database.store() as url, closing(Arena(url)) as made:
                yield made
            end_all()
    finally:
        run.close()
