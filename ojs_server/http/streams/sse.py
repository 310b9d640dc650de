"""Server-sent events: frames, heartbeats and comments."""

from typing import Final

EVENT_STREAM: Final = "text/event-stream"
HEADERS: Final = {
    # Tell proxies not to buffer the events.
    "X-Accel-Buffering": "no",
}
# Clients reconnect after three seconds. A client whose job has ended need not reconnect; an hour is
# the closest that SSE can express.
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


# The last frame of a stream that ends because the server stops.
SHUTDOWN: Final = frame("server.shutdown", b'{"reason":"stopping"}')
