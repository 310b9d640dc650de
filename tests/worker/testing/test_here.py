"""Running a coroutine to its end, wherever one is."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from ojs_worker.testing.here import run_here, turning

WORD: ContextVar[str] = ContextVar("word", default="none")


async def where() -> tuple[int, str]:
    await asyncio.sleep(0)
    return threading.get_ident(), WORD.get()


def test_without_a_loop_it_runs_in_this_thread() -> None:
    assert turning() is None
    WORD.set("here")
    assert run_here(where) == (threading.get_ident(), "here")


async def test_in_the_middle_of_a_loop_it_runs_beside_it() -> None:
    assert turning() is asyncio.get_running_loop()
    WORD.set("beside")
    thread, word = run_here(where)
    assert thread != threading.get_ident()
    assert word == "beside"


async def test_its_errors_come_back_from_there() -> None:
    async def fail() -> None:
        raise LookupError("not here")

    with pytest.raises(LookupError, match="not here"):
        run_here(fail)
