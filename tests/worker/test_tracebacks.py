"""Tracebacks of handlers in the log and in the reported error."""

import logging

import pytest

from ojs_worker import BlockingContext, Worker
from ojs_worker.testing import Sandbox


def fails(ctx: BlockingContext) -> None:
    """Fail in the program's own code."""
    raise ValueError(f"attempt {ctx.attempt}")


def misuses(ctx: BlockingContext) -> None:
    """Fail below a call of the SDK."""
    worker.job("a.b", dela="5m")(fails)  # type: ignore[call-arg]


worker = Worker("http://127.0.0.1:9")
worker.job("fails")(fails)
worker.job("misuses")(misuses)


@pytest.mark.parametrize("level", [logging.WARNING, logging.DEBUG])
def test_frames_of_the_sdk_are_shown_at_debug_level_only(
    caplog: pytest.LogCaptureFixture, level: int
) -> None:
    caplog.set_level(level, "ojs.worker")
    with Sandbox(worker) as ojs:
        ran = ojs.run_blocking(ojs.client.request("fails"))
    backtrace = ran.error["backtrace"]
    assert len(backtrace) == 1
    assert backtrace[0].startswith(f"{__file__}:")
    assert f", at {__file__}:" in caplog.text
    assert ("executing.py" in caplog.text) == (level == logging.DEBUG)


def test_the_failing_call_of_the_sdk_is_shown() -> None:
    with Sandbox(worker) as ojs:
        ran = ojs.run_blocking(ojs.client.request("misuses"))
    first, *below = ran.error["backtrace"]
    assert first.startswith(f"{__file__}:")
    assert below
    assert all("ojs_worker" in line for line in below)
