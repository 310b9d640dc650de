"""The form in which jobs are enqueued: the published one, except where a case says so itself."""

from typing import Any

import msgspec
import pytest

from conformance.play.options import published
from conformance.play.stage import Stage
from conformance.play.wire import Wire
from tests.conformance.fake_server import FakeServer

JOB = {"type": "t", "args": [], "queue": "q", "retry": {"max_attempts": 1}, "meta": {"a": 1}}
PUT = {
    "type": "t",
    "args": [],
    "meta": {"a": 1},
    "options": {"queue": "q", "retry": {"max_attempts": 1}},
}


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        (JOB, PUT),
        ({"jobs": [JOB, 7], "atomicity": "atomic"}, {"jobs": [PUT, 7], "atomicity": "atomic"}),
        ({"type": "t", "args": []}, {"type": "t", "args": []}),
        (
            {"type": "t", "queue": "q", "priority": 1, "options": {"queue": "r"}},
            {"type": "t", "options": {"queue": "r", "priority": 1}},
        ),
        ({"queue": "q", "options": 7}, {"queue": "q", "options": 7}),
        ([1], [1]),
    ],
    ids=["a job", "a batch", "no options", "some there already", "no object", "no job"],
)
def test_options_of_jobs_stand_in_options(body: Any, sent: Any) -> None:
    assert published(body) == sent


async def test_jobs_are_posted_in_the_published_form_and_called_as_written() -> None:
    server = FakeServer()
    async with server.client() as client:
        stage = Stage(Wire(client), {})
        await stage.post("jobs", JOB)
        await stage.post("dead-letter/retry", JOB)
        await stage.call("POST", "jobs", JOB)
    assert [msgspec.json.decode(request.body) for request in server.requests] == [PUT, JOB, JOB]
