"""Request bodies of the worker calls: every dialect is read, values out of range are refused."""

from typing import Any

import msgspec
import pytest

from ojs_wire import codec
from ojs_wire.calls import (
    AckRequest,
    BeatRequest,
    FetchRequest,
    NackRequest,
    RegisterRequest,
)


def read(shape: type[Any], **members: Any) -> Any:
    return msgspec.convert(codec.decode(codec.encode(members)), shape)


def test_a_fetch_needs_only_its_queues() -> None:
    assert read(FetchRequest, queues=["q"]) == FetchRequest(queues=["q"])
    given = {"queues": ["q"], "count": 3, "visibility_timeout": "PT1S", "unknown": [1]}
    assert read(FetchRequest, **given) == FetchRequest(
        queues=["q"], count=3, visibility_timeout="PT1S"
    )


@pytest.mark.parametrize(
    "members",
    [
        {"queues": []},
        {"queues": "q"},
        {"queues": [1]},
        {"queues": ["q"] * 101},
        {"queues": ["q"], "count": 0},
        {"queues": ["q"], "count": 1001},
        {"queues": ["q"], "count": "1"},
        {"queues": ["q"], "wait_ms": -1},
        {"queues": ["q"], "fetch_id": ""},
        {"queues": ["q"], "fetch_id": "x" * 256},
        {"queues": ["q"], "job_types": []},
        {"queues": ["q"], "visibility_timeout_ms": 1.5},
        {"queues": ["q"], "visibility_timeout": []},
    ],
)
def test_a_fetch_out_of_range_is_refused(members: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(FetchRequest, **members)


def test_a_result_of_null_is_a_result() -> None:
    assert read(AckRequest, result=None).result is None
    assert read(AckRequest).result is msgspec.UNSET


@pytest.mark.parametrize("attempt", [-1, 2**31 + 1, "1", 1.5])
def test_an_attempt_is_a_whole_number(attempt: object) -> None:
    for shape in (AckRequest, NackRequest):
        with pytest.raises(msgspec.ValidationError):
            read(shape, attempt=attempt)


@pytest.mark.parametrize("active", [["a"], [], 0, 7])
def test_active_jobs_are_ids_or_their_number(active: object) -> None:
    assert read(BeatRequest, active_jobs=active).active_jobs == active


@pytest.mark.parametrize("active", ["a", -1, [1], {"a": 1}, ["x"] * 10_001])
def test_other_active_jobs_are_refused(active: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(BeatRequest, active_jobs=active)


@pytest.mark.parametrize("shape", [BeatRequest, RegisterRequest])
def test_a_worker_says_of_itself_what_it_likes_within_bounds(shape: type[Any]) -> None:
    profile = {"hostname": "h", "pid": 1, "queues": ["q"], "concurrency": 4, "metadata": {"a": 1}}
    assert msgspec.to_builtins(read(shape, worker_id="w", **profile)) == {
        "worker_id": "w",
        **profile,
    }
    with pytest.raises(msgspec.ValidationError):
        read(shape, worker_id="w", hostname="x" * 256)
