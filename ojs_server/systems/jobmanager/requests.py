"""Bodies of the requests of the job manager's clients."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ojs_wire.values import MAX_NAME


class Offer(msgspec.Struct):
    """A job or provider to register. The published client writes `schema_`, which only counts
    where `schema` is missing."""

    category: str
    name: str
    schema: dict[str, Any] | None = None
    schema_: dict[str, Any] | None = None
    worker_id: str | None = None

    @property
    def offered_schema(self) -> dict[str, Any]:
        """The schema, whatever the client calls it."""
        return self.schema_ or {} if self.schema is None else self.schema


class JobRequest(Offer):
    """A job to register."""


class ProviderRequest(Offer):
    """A provider to register."""

    content_type: str = "application/json"


class TaskRequest(msgspec.Struct):
    """The payload of a task, whose job stands in the path; with an `id`, which the published client
    does not send, the request may be repeated."""

    payload: Any = {}
    id: str | None = None


class ClaimRequest(msgspec.Struct):
    """A worker's request for a task; the published client sends no `fetch_id`."""

    worker_id: str
    fetch_id: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)] | None = None


class StatusRequest(msgspec.Struct):
    """A worker's report on a task; the published client sends no result, and not who it is."""

    status: str
    error: str | None = None
    worker_id: str | None = None
    result: Any = msgspec.UNSET
