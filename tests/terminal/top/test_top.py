"""`ojs top` in a pseudo-terminal, on both stores."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import pytest

from ojs_cli.failures import INTERRUPTED, OK
from tests.terminal.conftest import Call, Ojs

PATIENCE_S = 60
_LINE = re.compile(r"\x1b\[(\d+);1H(.*?)\x1b\[K", re.DOTALL)
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Screen:
    """A terminal with a program in it."""

    def __init__(self, *words: str) -> None:
        self._own, other = pty.openpty()
        self.before = termios.tcgetattr(other)
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ojs_cli", *words],
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        self._other = other
        self.written = ""
        self._decoder = getincrementaldecoder("utf-8")()

    def press(self, typed: str) -> None:
        """Type keys."""
        os.write(self._own, typed.encode())

    @property
    def text(self) -> str:
        """The text on the screen."""
        lines: dict[int, str] = {}
        for number, line in _LINE.findall(self.written):
            lines[int(number)] = _STYLE.sub("", line).rstrip()
        return "\n".join(lines[number] for number in sorted(lines))

    def until(self, holds: Callable[[], bool]) -> None:
        """Read the program's output until a condition holds."""
        deadline = monotonic() + PATIENCE_S
        while not holds():
            assert monotonic() < deadline, f"it never came:\n{self.text}\n{self.written[-2000:]}"
            if select.select([self._own], [], [], 0.05)[0]:
                self._read()

    def _read(self) -> None:
        self.written += self._decoder.decode(os.read(self._own, 65536))

    def until_shown(self, text: str) -> None:
        """Wait for a text."""
        self.until(lambda: text in self.text)

    def end(self) -> int:
        """Wait for the end; the exit code."""
        self.until(lambda: self.process.poll() is not None)
        return self.process.wait()

    def close(self) -> None:
        """End the program and close the terminal."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._own)
        os.close(self._other)

    @property
    def is_restored(self) -> bool:
        """Return True if the terminal was restored to its state before."""
        while select.select([self._own], [], [], 0)[0]:
            self._read()
        left = self.written.rindex("\x1b[?1049l")
        return left > self.written.rindex("\x1b[?1049h") and (
            termios.tcgetattr(self._other)[3] == self.before[3]
        )


@contextmanager
def top(url: str) -> Iterator[Screen]:
    screen = Screen("top", "--url", url, "-d", "0.25")
    try:
        yield screen
    finally:
        screen.close()


def test_keys_repair_a_queue(ojs: Ojs, call: Call, server_url: str) -> None:
    once = {"queue": "mail", "retry": {"max_attempts": 1}}
    job = call("POST", "/jobs", type="mail.send", args=[], options=once)["job"]["id"]
    call("POST", "/workers/fetch", queues=["mail"], worker_id="w1")
    call("POST", "/workers/nack", job_id=job, worker_id="w1", error={"message": "no"})
    call("POST", "/jobs", type="t", args=[], options={"queue": "print"})

    def is_paused() -> bool:
        return bool(call("GET", "/queues/mail")["queue"]["paused"])

    with top(server_url) as screen:
        screen.until_shown("print")
        screen.press("/ma\r")
        screen.until(lambda: "print" not in screen.text)
        screen.press("P")
        screen.until_shown("pause mail? [y/N]")
        assert not is_paused()
        screen.press("y")
        screen.until_shown("paused")
        assert is_paused()
        screen.press("R")
        screen.until_shown("retry 1 dead job of mail? [y/N]")
        screen.press("y")
        screen.until_shown("retried 1 job")
        assert call("GET", f"/jobs/{job}")["job"]["state"] == "available"
        screen.press("\t")
        screen.until_shown("w1")
        screen.press("q")
        assert screen.end() == OK
        assert screen.is_restored


def test_an_interrupt_gives_the_terminal_back(call: Call, server_url: str) -> None:
    with top(server_url) as screen:
        screen.until_shown("live")
        os.kill(screen.process.pid, signal.SIGINT)
        assert screen.end() == INTERRUPTED
        assert screen.is_restored


def test_a_server_that_is_away_is_told_and_keys_work(call: Call) -> None:
    with top("http://127.0.0.1:9") as screen:
        screen.until_shown("no answer for")
        screen.press("?")
        screen.until_shown("these keys")
        screen.press("xq")
        assert screen.end() == OK


def test_without_a_terminal_it_prints_once(ojs: Ojs, call: Call) -> None:
    call("POST", "/jobs", type="t", args=[], options={"queue": "mail"})
    said = ojs("top")
    assert said.code == OK
    assert "> mail" in said.out
    assert "\x1b" not in said.out


@pytest.mark.parametrize("noun", ["jobs", "queues"])
def test_a_list_is_watched_in_its_place(call: Call, server_url: str, noun: str) -> None:
    call("POST", "/jobs", type="first", args=[], options={"queue": "first"})
    screen = Screen(noun, "list", "-w", "--url", server_url, "--interval", "0.05")
    try:
        screen.until(lambda: "first" in screen.written)
        call("POST", "/jobs", type="second", args=[], options={"queue": "second"})
        screen.until(lambda: "second" in screen.written)
        os.kill(screen.process.pid, signal.SIGINT)
        assert screen.end() == INTERRUPTED
    finally:
        screen.close()
