"""A warning that many cases share."""

import logging

import pytest

from ojs_server.observe.counted_warning import CountedWarning
from tests.http.waiting import until


async def test_cases_of_an_interval_share_a_line(caplog: pytest.LogCaptureFixture) -> None:
    warning = CountedWarning(logging.getLogger("ojs.test"), "%d cases, the last %s", 0.01)
    for case in ("a", "b", "c"):
        warning.add(case)
    await until(lambda: len(caplog.records) == 2)
    warning.add("d")
    await until(lambda: len(caplog.records) == 3)
    told = [record.getMessage() for record in caplog.records]
    assert told == ["1 cases, the last a", "2 cases, the last c", "1 cases, the last d"]
