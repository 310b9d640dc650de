"""Tests of the settings that a worker under test gets by its command and environment."""

import asyncio
import signal
import sys

import pytest

from conformance.processes.worker import (
    Settings,
    WorkerProcess,
    filled,
    signals_for_children,
    times,
)

SETTINGS = Settings(
    url="http://127.0.0.1:8", beat_s=0.25, grace_s=1.25, poll_s=0.1, queues=("a", "b")
)


def test_times_are_those_of_the_protocol_or_a_part_of_them() -> None:
    assert (times().beat_s, times().grace_s, times().poll_s) == (5, 25, 1)
    short = times(0.1)
    assert (short.beat_s, short.grace_s, short.poll_s) == (0.5, 2.5, 0.1)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("--url={url}/x", "--url=http://127.0.0.1:8/x"),
        ("{beat} {beat_ms} {grace} {grace_ms}", "0.25 250 1.25 1250"),
        ("{queues}:{concurrency}:{poll}", "a,b:3:0.1"),
        ("{other} {} {{url}}", "{other} {} {http://127.0.0.1:8}"),
    ],
)
def test_placeholders_are_filled_and_other_braces_left(given: str, wanted: str) -> None:
    assert filled([given], SETTINGS) == [wanted]


def test_the_environment_says_the_same_under_several_names() -> None:
    environ = SETTINGS.environ({"NO_PROXY": "example.org"})
    assert environ["OJS_URL"] == environ["OJS_CONFORMANCE_URL"] == SETTINGS.url
    assert environ["OJS_HEARTBEAT_INTERVAL"] == environ["OJS_CONFORMANCE_BEAT"] == "0.25"
    assert environ["OJS_GRACE_PERIOD"] == environ["OJS_CONFORMANCE_GRACE"] == "1.25"
    assert environ["OJS_SHUTDOWN_GRACE_PERIOD"] == "1.25s"
    assert (environ["OJS_QUEUES"], environ["OJS_CONCURRENCY"]) == ("a,b", "3")
    assert environ["NO_PROXY"] == "example.org,127.0.0.1,localhost"


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("raise SystemExit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143),
    ],
)
async def test_exit_codes_are_those_of_a_shell(script: str, code: int) -> None:
    ends: list[bool] = []
    process = WorkerProcess(
        [sys.executable, "-I", "-c", script], SETTINGS, lambda: ends.append(True)
    )
    await process.start()
    assert await process.ended(30) == code
    await process.close()
    assert (process.code, process.alive, ends) == (code, False, [True])


async def test_what_hears_no_signal_is_killed() -> None:
    process = WorkerProcess(["/bin/sh", "-c", "trap '' TERM; echo up; sleep 300 & wait"], SETTINGS)
    await process.start()
    async with asyncio.timeout(30):
        while process.tail.text != "up":
            await process.ended(0.01)
    process.send(signal.SIGTERM)
    assert await process.ended(0.05) is None
    await process.close()
    assert process.code == 128 + signal.SIGKILL


async def test_a_worker_hears_what_the_judge_ignores() -> None:
    script = "import signal; print(signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL)"
    before = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    try:
        with signals_for_children():
            process = WorkerProcess([sys.executable, "-I", "-c", script], SETTINGS)
            await process.start()
            await process.ended(30)
        assert signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTSTP, before)
    assert process.tail.text == "True"
    await process.close()
