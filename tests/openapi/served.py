"""A server in a process of its own, for tests that speak to it over a socket."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


@contextmanager
def serving(database: str, *options: str) -> Iterator[str]:
    """The URL of a server in a process of its own."""
    command = [sys.executable, "-m", "ojs_server", "--port", "0", "--database", database]
    with subprocess.Popen(
        [*command, "--conformance", "--max-wait-ms", "50", "--log-level", "error", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            announced = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
            assert announced is not None, process.communicate()
            yield announced[0]
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "failed unexpectedly" not in errors, errors
