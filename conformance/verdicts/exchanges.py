"""Requests and answers as they were recorded, and their deviations from the contract."""

import msgspec

from conformance.language.values import Missing

_KEPT_CHARACTERS = 20_000


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request and what came back, as reports show it; long bodies are cut."""

    method: str
    url: str
    request_headers: dict[str, str] = {}
    request_body: str = ""
    status: int | None = None
    headers: dict[str, str] = {}
    body: str = ""
    duration_ms: int = 0
    trouble: str = ""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A place where an exchange differs from the OpenAPI document."""

    operation: str
    pointer: str  # in the OpenAPI document
    at: str = ""  # in the request or answer
    message: str
    side: str = "response"  # or `request`
    exchange: int = -1

    def __str__(self) -> str:
        place = f" at {self.at}" if self.at else ""
        return f"{self.operation} ({self.side}){place}: {self.message} [{self.pointer}]"


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as it came; header names are lower case, repeated ones joined."""

    status: int
    headers: dict[str, str]
    content: bytes
    duration_ms: int


def parse_body(content: bytes) -> object:
    """Decode a response body; a body that is no JSON becomes a Missing that says so."""
    if not content:
        return Missing("the body is empty")
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Missing(f"the body is not JSON: {error}")


def cut(content: bytes) -> str:
    """A body as reports keep it."""
    text = content[: 4 * _KEPT_CHARACTERS].decode(errors="replace")
    if len(text) <= _KEPT_CHARACTERS:
        return text
    return f"{text[:_KEPT_CHARACTERS]} ... ({len(content)} bytes)"
