"""Server-sent events: frames, heartbeats and comments."""

from typing import Final

EVENT_STREAM: Final = "text/event-stream"
HEADERS: Final = {
    # Proxies that gather answers would hold events back.
    "X-Accel-Buffering": "no",
}
# A client that lost its connection comes back after three seconds; one whose job has ended need
# not come back at all, and an hour is the closest to it that can be said.
OPENING: Final = b"retry: 3000\n\n"
ENDING: Final = b"retry: 3600000\n\n"


def frame(name: str, data: bytes, place: str | None = None) -> bytes:
    """Return one event as a frame; `place` is the id with which a client resumes."""
    start = b"" if place is None else b"id: " + place.encode() + b"\n"
    return start + b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


def heartbeat(place: str) -> bytes:
    """Return a heartbeat with the cursor up to which the log was searched for this stream."""
    return b":heartbeat\nid: " + place.encode() + b"\n\n"


def comment(text: str) -> bytes:
    """Return a comment line, which clients skip."""
    return b":" + text.encode() + b"\n\n"


# The last frame of a stream that ends because the server does.
SHUTDOWN: Final = frame("server.shutdown", b'{"reason":"stopping"}')
