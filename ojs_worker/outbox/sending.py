"""Sending rows of the outbox: many in one call, and apart where the server refuses that."""

from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import Final

import msgspec

from ojs_worker.client import Client
from ojs_worker.client.requests import JobRequest
from ojs_worker.errors import Conflict, Duplicate, NotFound, RateLimited, Refused
from ojs_worker.outbox.rows import Row

# Refusals that say nothing about a job: the key is wrong, or no OJS server is there.
_OF_THE_RELAY: Final = frozenset({401, 404, 405})
# Queues that have to wait until no further one is tried: the limit may be that of all.
MOST_WAITING: Final = 3


class Sent(msgspec.Struct, frozen=True):
    """The server has the jobs of these rows."""

    ids: tuple[int, ...]


class NotTaken(msgspec.Struct, frozen=True):
    """The server refuses the job of this row for good."""

    id: int
    error: str


class Later(msgspec.Struct, frozen=True):
    """The server takes no job of this queue for now."""

    queue: str
    reason: RateLimited


Outcome = Sent | NotTaken | Later


class _Letter(msgspec.Struct, frozen=True):
    """A row and its request."""

    row: Row
    request: JobRequest


async def send(client: Client, rows: Sequence[Row]) -> AsyncGenerator[Outcome, None]:
    """Send rows in their order, and yield what became of them; nothing of those that have to wait.
    Raises what keeps the server from taking any job."""
    letters = []
    for row in rows:
        try:
            letters.append(_Letter(row, row.request()))
        except ValueError as error:
            yield NotTaken(row.id, f"the row holds no job: {error}")
    parts = deque([letters])
    waiting: set[str] = set()
    while parts:
        part = [letter for letter in parts.popleft() if letter.row.queue not in waiting]
        if not part:
            continue
        try:
            await _store(client, [letter.request for letter in part])
        except RateLimited as error:
            # The limit may be that of one queue. The others are not to wait for it.
            queues = _by_queue(part)
            if len(queues) > 1:
                parts.extendleft(reversed(queues))
            else:
                waiting.add(part[0].row.queue)
                yield Later(part[0].row.queue, error)
                if len(waiting) == MOST_WAITING:
                    return
        except Refused as error:
            if not _is_about_jobs(error):
                raise
            if len(part) > 1:
                half = len(part) // 2
                parts.extendleft((part[half:], part[:half]))
            elif isinstance(error, Conflict) and await _is_there(client, part[0].request, error):
                yield Sent((part[0].row.id,))
            else:
                yield NotTaken(part[0].row.id, str(error))
        else:
            yield Sent(tuple(letter.row.id for letter in part))


async def _store(client: Client, requests: Sequence[JobRequest]) -> None:
    if len(requests) == 1:
        await client.send(requests[0])
    else:
        await client.enqueue_many(requests)


def _by_queue(part: Sequence[_Letter]) -> list[list[_Letter]]:
    queues: dict[str, list[_Letter]] = {}
    for letter in part:
        queues.setdefault(letter.row.queue, []).append(letter)
    return list(queues.values())


def _is_about_jobs(error: Refused) -> bool:
    return error.is_final and error.status >= 400 and error.status not in _OF_THE_RELAY


async def _is_there(client: Client, request: JobRequest, error: Conflict) -> bool:
    """Return True if the server refuses a job because it has it already, as some servers do."""
    existing = error.existing_job_id if isinstance(error, Duplicate) else None
    if existing not in (None, request.id):
        return False
    try:
        job = await client.get(request.id)
    except NotFound:
        return False
    return job.type == request.type and job.args == request.args
