"""Answers of the server to input that is no request: they have the shape of any other error."""

import socket
from collections.abc import Iterator
from email.parser import BytesHeaderParser
from urllib.parse import urlsplit

import msgspec
import pytest

from tests.http.contract import contract
from tests.openapi.served import serving

BAD_REQUEST = "#/components/responses/BadRequest/content/application~1openjobspec+json/schema"


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """The address of a running server."""
    with serving(":memory:") as url:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        yield parts.hostname, parts.port


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"this is not HTTP\r\n\r\n", 400),
        (b"POST /ojs/v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-length: ten\r\n\r\n", 400),
        (b"GET /" + b"a" * 80_000, 431),
        (b"GET / HTTP/1.1\r\nhost: x\r\nx-long: " + b"a" * 80_000, 431),
    ],
)
def test_what_is_no_request_gets_an_error(
    address: tuple[str, int], sent: bytes, status: int
) -> None:
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(sent)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    line, _, fields = head.partition(b"\r\n")
    assert line.split(b" ")[1] == str(status).encode()
    headers = BytesHeaderParser().parsebytes(fields)
    assert headers["content-type"] == "application/openjobspec+json"
    assert headers["ojs-version"] == "1.0"
    error = msgspec.json.decode(body)
    contract().validate(BAD_REQUEST, error)
    assert error["error"]["request_id"] == headers["x-request-id"]
