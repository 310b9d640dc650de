"""The rooms of Socket.IO: their names, and the messages of clients that join and leave them."""

import msgspec


class JobRoom(msgspec.Struct, frozen=True):
    """A message of a worker that subscribes to the tasks of a job, or unsubscribes."""

    job_name: str
    worker_id: str


class ProviderRoom(msgspec.Struct, frozen=True):
    """A message of a worker that subscribes to the requests of a provider, or unsubscribes."""

    provider_name: str
    worker_id: str


class PlainRoom(msgspec.Struct, frozen=True):
    """A message of a page that subscribes to the events of a room, or unsubscribes."""

    room_id: str


def job_room(full_name: str) -> str:
    """Return the Socket.IO room for workers of a job, to which its tasks are announced."""
    return f"jobs:{full_name}"


def provider_room(full_name: str) -> str:
    """Return the Socket.IO room for the worker of a provider, to which its requests are sent."""
    return f"providers:{full_name}"


def plain_room(room: str) -> str:
    """Return the room of Socket.IO for the pages of a room."""
    return f"room:{room}"
