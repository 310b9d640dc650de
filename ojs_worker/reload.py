"""`--reload`: starts the worker anew when a source file changes. For development.

The child ignores signals and gets them from this process over a pipe, so that each signal counts
once, however it was sent.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ojs_worker.signals import ENDING, SignalBox

LOOK_S: Final = 0.3
CONTROL: Final = "OJS_WORKER_CONTROL_FD"
_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages"})


class Supervisor:
    """Keeps one worker process, and replaces it when something changes."""

    def __init__(self, arguments: Sequence[str], folder: Path, box: SignalBox) -> None:
        self._command = [sys.executable, "-m", "ojs_worker", *arguments]
        self._folder = folder
        self._box = box
        self._child: subprocess.Popen[bytes]
        self._pipe = -1
        self._ending = False

    def run(self) -> int:
        """Run until a signal ends it; returns the worker's exit code."""
        seen = snapshot(self._folder)
        self._start()
        self._box.listen(self._pass_on)
        while True:
            try:
                code = self._child.wait(LOOK_S)
            except subprocess.TimeoutExpired:
                code = None
            if self._ending and code is not None:
                return code
            now = snapshot(self._folder)
            if now != seen:
                seen = now
                print("ojs-worker: a file has changed, starting anew", file=sys.stderr, flush=True)
                if code is None:
                    self._say(signal.SIGTERM)
                    self._child.wait()
                if not self._ending:
                    self._start()
            elif code is not None:
                # It ended by itself, perhaps over a mistake in a file: wait for the next change.
                time.sleep(LOOK_S)

    def _start(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
        theirs, self._pipe = os.pipe()
        self._child = subprocess.Popen(
            self._command, pass_fds=(theirs,), env={**os.environ, CONTROL: str(theirs)}
        )
        os.close(theirs)

    def _pass_on(self, sig: signal.Signals) -> None:
        self._ending = self._ending or sig in ENDING
        self._say(sig)

    def _say(self, sig: signal.Signals) -> None:
        try:
            os.write(self._pipe, bytes([sig]))
        except OSError:
            # The child has ended already.
            return


def follow(descriptor: int, box: SignalBox) -> None:
    """In the child: take signals from the pipe; when it closes, the parent is gone."""

    def listen() -> None:
        while word := os.read(descriptor, 1):
            box.deliver(signal.Signals(word[0]))
        box.deliver(signal.SIGTERM)

    threading.Thread(target=listen, name="ojs-control", daemon=True).start()


def snapshot(folder: Path) -> dict[str, int]:
    """The Python files below a folder, with when each was written."""
    return dict(_files(folder))


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _SKIPPED]
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(place, name)
                try:
                    yield path, os.stat(path).st_mtime_ns
                except OSError:
                    # It went away while we looked.
                    continue
