"""Messages of clients, checked before the library sees them."""

import pytest

from ojs_server.systems.jobmanager.socketio.packets import (
    MAX_MESSAGE,
    BadPacket,
    check_frame,
    check_payload,
)

GOOD = ("40", '40{"token":"x"}', "41", '42["join_room",{}]', '420["a",1,2]', "430[]", "3", "1")
BAD = (
    *("42[[[", "42", "42[]", '42{"a":1}', "42[[1]]", "4", "4true", "4{}", "47", "44{}", "9", "x"),
    *('42["connect",{}]', '42["disconnect"]', '451-["a",{"_placeholder":true,"num":0}]', "bAAAA"),
    *("0", "2", "6", "4²", "42" + "[" * 60_000, '42["a"]' + "9" * 6000, "4" + "2" * 200),
)


@pytest.mark.parametrize("packet", GOOD)
def test_clients_may_send_packets(packet: str) -> None:
    check_payload(packet.encode())
    check_frame(packet)


@pytest.mark.parametrize("packet", BAD)
def test_nothing_else_reaches_the_library(packet: str) -> None:
    with pytest.raises(BadPacket, match="session is closed"):
        check_payload(packet.encode())
    with pytest.raises(BadPacket, match="session is closed"):
        check_frame(packet)


@pytest.mark.parametrize(
    "body", [b"40\x1e42[[[", b"1\x1e40", b"\xff", b"d=", b"\x1e".join([b"3"] * 17)]
)
def test_the_body_of_a_post_is_a_list_of_packets(body: bytes) -> None:
    with pytest.raises(BadPacket):
        check_payload(body)


def test_a_websocket_may_begin_with_a_probe() -> None:
    check_frame("2probe")
    check_frame("5")
    for frame in (None, "", "40" + " " * MAX_MESSAGE):
        with pytest.raises(BadPacket):
            check_frame(frame)
    with pytest.raises(BadPacket):
        check_payload(b"5")
