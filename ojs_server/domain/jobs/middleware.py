"""Description of the stages that a job passes before it is stored, in their order.

The stages are one fixed code path; this list only describes it for the API.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

# The member of `meta` that holds the id of the request that enqueued the job.
REQUEST_ID: Final = "request_id"


class Step(msgspec.Struct, frozen=True):
    """One stage that a job, or the request that brings it, passes."""

    name: str
    description: str


TRACING: Final = "tracing"
AUTHENTICATION: Final = "authentication"
CHAIN: Final = (
    Step(TRACING, "creates a trace span for the request"),
    Step(AUTHENTICATION, "requires an API key that may enqueue"),
    Step("tenant", "assigns the job to its tenant, and applies the tenant's limits"),
    Step(
        "validation", "validates the envelope; with `meta.ojs_validate` also that there are `args`"
    ),
    Step("request_id", "writes the request's X-Request-Id into `meta.request_id`"),
    Step("idempotency", "returns the earlier result for a repeated request"),
    Step("schema", "validates `args` against the schema registered for the type"),
    Step("unique", "detects duplicates by the job's unique policy"),
    Step("backpressure", "applies the queue's bounds: refuses, delays or drops jobs"),
)


def recorded(meta: Mapping[str, Any], request_id: str | None) -> Mapping[str, Any]:
    """Return the `meta` of a job with the stages it passed; its producer's members stay."""
    return meta if request_id is None else {REQUEST_ID: request_id, **meta}
