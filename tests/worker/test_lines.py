"""The lines of a job in the log, and how a worker's log looks."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import pytest

from ojs_worker import BlockingClient, Client, Discard, Snooze, Unreachable, Worker
from ojs_worker.logs import TextFormatter, set_up
from tests.worker.conftest import Start
from tests.worker.scripted import ACK, NACK, ScriptedServer, job

Make = Callable[..., Worker]


@contextmanager
def bare() -> Iterator[logging.Logger]:
    """A program that has not set its log up; pytest has, once a test begins."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    root.handlers.clear()
    try:
        yield root
    finally:
        root.handlers[:] = before[0]
        root.setLevel(before[1])


async def test_a_job_has_a_line_at_its_start_and_at_its_end(
    make_worker: Make, scripted: ScriptedServer, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    worker = make_worker()

    @worker.job("all.well")
    async def well() -> None: ...

    @worker.job("goes.wrong")
    async def wrong() -> None:
        await asyncio.wait_for(broken(), 9)

    async def broken() -> None:
        json.loads("{")

    @worker.job("not.now")
    async def later() -> None:
        raise Snooze("5m", "not yet")

    @worker.job("not.ever")
    def never() -> None:
        raise Discard

    kinds = ("all.well", "goes.wrong", "not.now", "not.ever")
    caplog.set_level(logging.DEBUG)
    async with start(worker):
        for number, kind in enumerate(kinds):
            await scripted.offer(job(number, kind))
            await scripted.settled(job(number), NACK if number else ACK)
    lines = {
        kind: [one for one in caplog.records if one.getMessage().startswith(f"{kind} ")]
        for kind in kinds
    }
    ends = {}
    for number, kind in enumerate(kinds):
        begun, ends[kind] = lines[kind]
        named = f"(job {job(number)['id']}, attempt 1)"
        assert begun.getMessage() == f"{kind} begins {named}"
        assert begun.levelno == logging.DEBUG
        assert named in ends[kind].getMessage()
        assert vars(ends[kind])["job_id"] == job(number)["id"]
    assert "all.well done in " in ends["all.well"].getMessage()
    assert "not.now snoozed (not yet) in " in ends["not.now"].getMessage()
    assert "not.ever discarded in " in ends["not.ever"].getMessage()
    failure = ends["goes.wrong"].getMessage()
    assert "goes.wrong failed in " in failure
    assert "JSONDecodeError: Expecting property" in failure
    # The innermost frame is one of the standard library's.
    assert failure.endswith("in broken")
    assert __file__ in failure
    levels = [ends[kind].levelno for kind in kinds]
    assert levels == [logging.INFO, logging.WARNING, logging.INFO, logging.INFO]


async def test_the_first_line_names_queues_types_and_places(
    make_worker: Make, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    worker = make_worker(queues=["a", "b"], concurrency=1)
    for number in range(22):
        worker.job(f"a.t{number}")(lambda: None)
    caplog.set_level(logging.INFO)
    async with start(worker) as running:
        (said,) = [one.getMessage() for one in caplog.records if "serves" in one.getMessage()]
    assert said.startswith("ojs-worker 0.")
    assert f"serves a, b at http://127.0.0.1:8080, 1 job at once, as {running.id}" in said
    assert said.endswith("a.t18, a.t19 and 2 more types")


def test_what_the_program_says_about_its_log_wins() -> None:
    own = logging.StreamHandler(StringIO())
    with bare() as root:
        root.addHandler(own)
        set_up("json", "debug")
        assert root.handlers == [own]


@pytest.mark.parametrize(
    ("terminal", "plain", "coloured"), [(True, "", True), (True, "1", False), (False, "", False)]
)
def test_levels_are_coloured_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, plain: str, coloured: bool
) -> None:
    written = StringIO()
    monkeypatch.setattr(written, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setenv("NO_COLOR", plain)
    with bare():
        set_up("text", "info")
        logging.getLogger("mine").warning("careful")
    assert ("\x1b[33mWARNING\x1b[0m" in written.getvalue()) is coloured
    assert written.getvalue().endswith("mine: careful\n")


def test_a_line_names_its_job_once() -> None:
    def line(said: str) -> str:
        more: Any = {"job_id": "7", "job_type": "a.b"}
        record = logging.makeLogRecord({"msg": said, "levelname": "INFO", **more})
        return TextFormatter().format(record)

    assert line("halfway").endswith("halfway [a.b 7]")
    assert line("job 7 is done").endswith("job 7 is done")


def test_a_server_that_is_not_there_is_one_sentence() -> None:
    async def asked() -> None:
        async with Client("http://127.0.0.1:1", deadline_s=0) as client:
            await client.get("1")

    def asked_blocking() -> None:
        with BlockingClient("http://127.0.0.1:1", deadline_s=0) as client:
            client.get("1")

    def asked_in_a_loop() -> None:
        asyncio.run(asked())

    for ask in (asked_in_a_loop, asked_blocking):
        with pytest.raises(Unreachable) as told:
            ask()
        words = "no answer from http://127.0.0.1:1: nobody listens there (connection refused)"
        assert str(told.value) == words
        assert told.value.__suppress_context__
