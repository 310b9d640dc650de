"""Stops the database servers of a test run and removes its folder when the run has ended.

Run as a program, it knows that by the end of its input, which the run's process holds open.
"""

import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

STOP_LIMIT_SECONDS = 20.0


def halt(pid_file: Path) -> None:
    """End the server that wrote this file, at once: its data is not wanted any more."""
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text().split("\n", 1)[0])
    end = time.monotonic() + STOP_LIMIT_SECONDS
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGQUIT)
        while pid_file.exists():  # removed with the server's last breath
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
                return
            time.sleep(0.02)


def clean_up_after(run: Path) -> None:
    """Wait for the end of the run that has this folder, and leave nothing of it."""
    sys.stdin.readline()
    for pid_file in run.glob("*/data/*.pid"):
        halt(pid_file)
    shutil.rmtree(run)


if __name__ == "__main__":
    clean_up_after(Path(sys.argv[1]))
