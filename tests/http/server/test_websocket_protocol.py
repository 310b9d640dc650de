"""Text frames of WebSockets, which the server writes itself instead of the library."""

import pytest
from wsproto.connection import Connection, ConnectionType
from wsproto.events import TextMessage

from ojs_server.http.server.websocket_protocol import text_frame


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 200_000])
def test_a_client_reads_messages_that_were_sent_together(size: int) -> None:
    said = ["é" + "x" * (size - 2) if size > 1 else "x" * size, "next"]
    client = Connection(ConnectionType.CLIENT)
    client.receive_data(b"".join(text_frame(text.encode()) for text in said))
    heard = [""]
    for event in client.events():
        assert isinstance(event, TextMessage)
        heard[-1] += event.data
        if event.message_finished:
            heard.append("")
    assert heard == [*said, ""]
