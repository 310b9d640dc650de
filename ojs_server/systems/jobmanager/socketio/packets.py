"""Checks of what clients send, before the library sees it: what it does not expect it answers with
200 and a traceback in the log, or waits for."""

from typing import Final

from engineio import packet as engine
from engineio.payload import Payload
from socketio import packet

from ojs_server.domain.errors import InvalidRequest

# Clients send only short messages.
MAX_MESSAGE: Final = 64 * 1024
_MESSAGES: Final = (packet.CONNECT, packet.DISCONNECT, packet.EVENT, packet.ACK)
# Events of the library, which clients must not send.
_RESERVED: Final = ("connect", "disconnect")


class BadPacket(InvalidRequest):
    """A message is no packet, or none that a client may send."""

    def __init__(self, message: str) -> None:
        super().__init__(
            f"{message}; the session is closed",
            hint="open a new session, and send packets of Socket.IO 4 without attachments",
        )


def check_payload(body: bytes) -> None:
    """Check the body of a POST, which holds packets; raises BadPacket."""
    packets = _parsed(body)
    for place, each in enumerate(packets):
        if each.packet_type == engine.CLOSE and place + 1 < len(packets):
            raise BadPacket("packets stand behind the end of the session")
        _check(each, (engine.CLOSE, engine.PONG, engine.MESSAGE))


def check_frame(text: str | None) -> None:
    """Check a message of a WebSocket, which is one packet; raises BadPacket."""
    if text is None or len(text) > MAX_MESSAGE:
        raise BadPacket(f"messages are texts of at most {MAX_MESSAGE} characters")
    (single,) = _parsed(text)
    if single.packet_type == engine.PING and single.data == "probe":
        return
    _check(single, (engine.CLOSE, engine.PONG, engine.MESSAGE, engine.UPGRADE))


def _parsed(given: bytes | str) -> list[engine.Packet]:
    try:
        if isinstance(given, str):
            return [engine.Packet(encoded_packet=given)]
        packets: list[engine.Packet] = Payload(encoded_payload=given.decode()).packets
    except Exception:
        # The library raises errors of any type for invalid input.
        raise BadPacket("the body is no list of packets") from None
    return packets


def _check(each: engine.Packet, allowed: tuple[int, ...]) -> None:
    if each.packet_type not in allowed:
        raise BadPacket("the packet is of a type that clients do not send")
    if each.packet_type != engine.MESSAGE:
        return
    message = _message(each.data)
    if message.packet_type not in _MESSAGES or message.attachment_count:
        raise BadPacket("the message is of a type that clients do not send")
    if message.packet_type == packet.EVENT and not _is_event(message.data):
        raise BadPacket("an event is a list that begins with its name")


def _message(data: object) -> packet.Packet:
    if not isinstance(data, str):
        raise BadPacket("the message is no text")
    try:
        return packet.Packet(encoded_packet=data)
    except Exception:
        raise BadPacket("the message is no packet of Socket.IO") from None


def _is_event(data: object) -> bool:
    return (
        isinstance(data, list)
        and bool(data)
        and isinstance(data[0], str)
        and data[0] not in _RESERVED
    )
