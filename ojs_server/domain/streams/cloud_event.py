"""Events in the CloudEvents format: the same members, with reverse-DNS event types."""

from typing import Final

import msgspec

from ojs_wire import codec

MEDIA_TYPE: Final = "application/cloudevents+json"
PREFIX: Final = "org.openjobspec."
# Prefix of types that are in no specification.
OWN_PREFIX: Final = PREFIX + "x."
_OWN: Final = ("job.released", "job.refused", "job.deleted", "job.prioritized", "maintenance.")


class _Event(msgspec.Struct):
    specversion: str
    id: str
    type: str
    source: str
    time: str
    subject: str
    datacontenttype: str
    data: msgspec.Raw


_event: Final = msgspec.json.Decoder(_Event)


def cloud_type(kind: str) -> str:
    """Return the CloudEvents type of an event type."""
    return (OWN_PREFIX if kind.startswith(_OWN) else PREFIX) + kind


def cloud_event(event: bytes) -> bytes:
    """Convert an event in the server's own format."""
    known = _event.decode(event)
    known.type = cloud_type(known.type)
    return codec.encode(known)
