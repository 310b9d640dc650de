"""A job that is about to be enqueued. Middleware may change everything but its id."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from ojs_wire.values import JOB_TYPE
from ojs_worker.client.options import Options, check_names, wire_options

# Positional arguments as a list, or named ones as a mapping.
Args = Sequence[Any] | Mapping[str, Any]


class JobRequest(msgspec.Struct, kw_only=True):
    """One job to enqueue, as it goes on the wire."""

    # The id, which the client makes.
    id: str
    # The job type.
    type: str
    # The positional arguments; named ones are one object.
    args: list[Any]
    # Data in addition to the arguments.
    meta: dict[str, Any] = {}
    # The schema that the arguments are checked by.
    schema: str | None = None
    # All other options, in the form of the wire.
    options: dict[str, Any] = {}
    # A key under which the same enqueue is carried out once.
    idempotency_key: str | None = None
    # The type of the job's result, where a handler names one; the server does not see it.
    result_type: Any = None

    def wire(self) -> dict[str, Any]:
        """Return the JSON object of the request."""
        body: dict[str, Any] = {"id": self.id, "type": self.type, "args": self.args}
        for name in ("meta", "schema", "options"):
            if value := getattr(self, name):
                body[name] = value
        return body


def job_request(
    type: str, args: Args, options: Options, now: datetime, new_id: Callable[[int], str]
) -> JobRequest:
    """Make the request, with the checks that need no server.

    The job always has an id, so that a repeated request makes no second job.
    """
    check_names(options)
    if not JOB_TYPE.fullmatch(type):
        raise ValueError(f"{type!r} is not a job type; one looks like email.send")
    if isinstance(args, str | bytes):
        raise TypeError(f"`args` must be a list or a mapping, not {args.__class__.__name__}")
    job_id = options.get("id")
    return JobRequest(
        id=job_id or new_id(int(now.timestamp() * 1000)),
        type=type,
        args=[dict(args)] if isinstance(args, Mapping) else list(args),
        meta=dict(options.get("meta", {})),
        schema=options.get("schema"),
        options=wire_options(options, now),
        idempotency_key=options.get("idempotency_key"),
    )
