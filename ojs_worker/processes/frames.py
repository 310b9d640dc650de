"""Messages between a worker and its child processes: a length, then MessagePack."""

import socket
import struct
from typing import Any, Final

import msgspec

_HEAD: Final = struct.Struct("!I")
HEAD_BYTES: Final = _HEAD.size


class Hello(msgspec.Struct, frozen=True, tag=True):
    """The first message to a child: the parent's import path and main file, where the handlers
    are."""

    path: list[str]
    main_file: str | None
    log_level: int


class Run(msgspec.Struct, frozen=True, tag=True):
    """A message to the child: run the handler of this name in this module."""

    module: str
    name: str
    job: bytes


class Progress(msgspec.Struct, frozen=True, tag=True):
    """A message of the child: progress of the job."""

    body: dict[str, Any]


class Result(msgspec.Struct, frozen=True, tag=True):
    """A message of the child: the handler returned; the value is JSON."""

    result: bytes


class Raised(msgspec.Struct, frozen=True, tag=True):
    """A message of the child: the handler failed; the error is that of a FAIL, as JSON."""

    fault: bytes


FromParent = Hello | Run
FromChild = Progress | Result | Raised
_to_child: msgspec.msgpack.Decoder[FromParent] = msgspec.msgpack.Decoder(FromParent)
_to_parent: msgspec.msgpack.Decoder[FromChild] = msgspec.msgpack.Decoder(FromChild)


def pack(message: msgspec.Struct) -> bytes:
    """Encode a message with its length."""
    body = msgspec.msgpack.encode(message)
    return _HEAD.pack(len(body)) + body


def size_of(head: bytes) -> int:
    """Return the length of the message that follows this head."""
    size: int = _HEAD.unpack(head)[0]
    return size


def from_child(body: bytes) -> FromChild:
    """Decode a message of a child."""
    return _to_parent.decode(body)


def receive(channel: socket.socket) -> FromParent | None:
    """Wait for the parent's next message; None once the parent is gone."""
    head = _exactly(channel, HEAD_BYTES)
    if head is None:
        return None
    body = _exactly(channel, size_of(head))
    return None if body is None else _to_child.decode(body)


def _exactly(channel: socket.socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = channel.recv(size - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)
