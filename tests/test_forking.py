"""Processes by fork leave nothing behind."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable

import pytest

from tests.forking import ROOT

LIMIT_S = 60
# Forks a program that takes an hour and says nothing, says its process id, and waits.
PARENT = """
import asyncio, os
from tests.forking import fork

async def main():
    program = ("timeit", "-n1", "-r1", "-s", "import time", "time.sleep(3600)")
    child = await fork(program, os.environ, ())
    print(child.pid, flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


@pytest.mark.parametrize(("send", "sig"), [(os.kill, signal.SIGKILL), (os.killpg, signal.SIGTERM)])
async def test_what_was_forked_ends_with_who_asked_for_it(
    send: Callable[[int, int], None], sig: signal.Signals
) -> None:
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    os.kill(child, 0)
    send(parent.pid, sig)
    await parent.wait()
    async with asyncio.timeout(LIMIT_S):
        while is_there(child):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
