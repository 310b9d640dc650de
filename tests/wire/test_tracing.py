"""The trace of a job, and its id in every event of the job."""

from typing import Any

import pytest

from ojs_server.domain import events
from ojs_server.domain.jobs.validate import parse_draft
from ojs_wire.tracing import MAX_TRACE_ID, trace_of
from tests.domain.sample_jobs import NOW, data, job, lease

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    ("meta", "trace"),
    [
        ({}, None),
        ({"trace_id": "mine"}, "mine"),
        ({"trace_id": "x" * MAX_TRACE_ID}, "x" * MAX_TRACE_ID),
        ({"trace_id": "x" * (MAX_TRACE_ID + 1)}, None),
        ({"trace_id": ""}, None),
        ({"trace_id": "a\0b"}, None),
        ({"trace_id": 5}, None),
        ({"traceparent": PARENT}, TRACE),
        ({"ojs.otel.traceparent": PARENT}, TRACE),
        ({"traceparent": "odd", "ojs.otel.traceparent": PARENT}, TRACE),
        ({"trace_id": "mine", "traceparent": PARENT}, "mine"),
        ({"trace_id": None, "traceparent": PARENT + "-later-versions-say-more"}, TRACE),
        ({"traceparent": PARENT.upper()}, None),
        ({"traceparent": PARENT.replace(TRACE, "0" * 32)}, None),
        ({"traceparent": [PARENT]}, None),
        ({"span_id": "00f067aa0ba902b7"}, None),
    ],
)
def test_the_trace_is_read_from_meta(meta: dict[str, Any], trace: str | None) -> None:
    assert trace_of(meta) == trace
    assert parse_draft({"type": "t", "args": [], "meta": meta}).trace_id == trace
    assert parse_draft({"type": "t", "args": [], "options": {"metadata": meta}}).trace_id == trace


def test_every_event_of_a_traced_job_carries_the_trace() -> None:
    traced = job(trace_id=TRACE)
    assert data(events.enqueued(traced))["trace_id"] == TRACE
    assert data(events.completed(traced, None, NOW))["trace_id"] == TRACE
    assert data(events.extended(lease(trace_id=TRACE)))["trace_id"] == TRACE


def test_no_other_event_speaks_of_a_trace() -> None:
    assert "trace_id" not in data(events.enqueued(job()))
    assert "trace_id" not in data(events.extended(lease()))
