"""The records attached to a job in tables of their own; they are deleted with the job.

`Job.attached` has a flag for each that exists, so that calls on jobs without any cost nothing.
"""

from typing import Final

import msgspec

from ojs_wire.codec import Json

# The bits of `Job.attached`.
CHECKPOINT: Final = 1
PROGRESS: Final = 2
HOLDERS: Final = 4
NUMBER: Final = 8


class Checkpoint(msgspec.Struct, frozen=True):
    """The newest checkpoint of a job, as JSON; `sequence` counts those saved since the last
    deletion.

    `step_index` and `metadata`, a JSON object, are notes of the handler.
    """

    job_id: str
    sequence: int
    state: Json
    saved_at: int
    step_index: int | None = None
    metadata: Json | None = None


class Progress(msgspec.Struct, frozen=True):
    """The last progress report of `attempt`, and the time of the last event about it.

    All but the value is JSON. `checkpoint` may be of an earlier attempt.
    """

    job_id: str
    attempt: int
    value: float | None
    message: Json | None
    data: Json | None
    checkpoint: Json | None
    updated_at: int
    told_at: int
