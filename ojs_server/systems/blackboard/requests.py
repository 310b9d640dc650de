"""Bodies of the requests to the blackboard."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta


class BoardJobRequest(msgspec.Struct):
    """A job for the blackboard."""

    functionBlockId: str
    jobId: str | None = None
    jobType: str | None = None
    context: dict[str, Any] | None = None


class BoardPollRequest(msgspec.Struct):
    """A worker polls the blackboard."""

    workerId: str
    functionBlockIds: Annotated[list[str], Meta(min_length=1, max_length=100)]
    limit: Annotated[int, Meta(ge=1, le=1000)] | None = None


class BoardResultRequest(msgspec.Struct):
    """A worker pushes the result of a job."""

    jobId: str
    status: str
    result: Any = None
    error: Any = None
    acquires: Any = None
    dbUpdates: Any = None
