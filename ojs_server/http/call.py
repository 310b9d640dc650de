"""One request on its way through the server, and the answer it gets."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive, Scope

from ojs_server.domain.errors import InvalidRequest, MalformedPayload, TooLarge
from ojs_server.domain.naming import refuse_unknown
from ojs_server.store.clock import wall_ms
from ojs_wire import codec
from ojs_wire.values import RandomBits, kind_of, uuid7

if TYPE_CHECKING:
    from ojs_server.app import Server

Wanted = TypeVar("Wanted", bound=msgspec.Struct)

MEDIA_TYPES: Final = ("application/openjobspec+json", "application/json")
ANONYMOUS: Final = ""


class Disconnected(Exception):
    """The client went away while its request was being read."""


class Stream(ABC):
    """An answer that is sent piece by piece, for as long as both sides like."""

    @abstractmethod
    def pieces(self) -> AsyncGenerator[bytes, None]:
        """What is sent, in order."""

    @abstractmethod
    def close(self) -> None:
        """Nothing more is sent; called once, also where nothing was."""


class Answer(msgspec.Struct, frozen=True):
    """What a handler returns: a value to encode, bytes that are JSON already, or a stream."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = {}
    media_type: str | None = None


class Call:
    """A request: its route's parameters, headers, query, and body (read once, bounded)."""

    __slots__ = (
        "_headers",
        "_receive",
        "params",
        "principal",
        "request_id",
        "scope",
        "sent_request_id",
        "server",
        "tenant",
    )

    def __init__(self, scope: Scope, receive: Receive, server: "Server") -> None:
        self.scope = scope
        self.server = server
        self.params: Mapping[str, str] = scope.get("path_params", {})
        self.principal = ANONYMOUS
        # Whose alone it may see and change; None for all.
        self.tenant: str | None = None
        self.request_id = ""
        # The client's own one, where it sent one that can be used.
        self.sent_request_id: str | None = None
        self._receive = receive
        self._headers: dict[bytes, bytes] = dict(scope["headers"])

    def header(self, name: str) -> str | None:
        """A header's value; names in lower case."""
        value = self._headers.get(name.encode("latin-1"))
        return None if value is None else value.decode("latin-1")

    def query(self) -> dict[str, str]:
        """The query parameters, the last of each name."""
        return dict(parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True))

    async def json(self) -> Any:
        """The body as JSON; it must be there, and be an object."""
        return parsed(await self.body())

    async def optional_json(self) -> Any:
        """The body as JSON, an empty object where there is none."""
        body = await self.body()
        return _object(body) if body.strip() else {}

    async def read(self, wanted: type[Wanted], *, optional: bool = False) -> Wanted:
        """The body as one of the wire's requests."""
        return self.typed(await (self.optional_json() if optional else self.json()), wanted)

    def typed(self, value: Mapping[str, Any], wanted: type[Wanted]) -> Wanted:
        """A JSON object as one of the wire's requests, or as a part of one."""
        self.check_members(value, wanted)
        try:
            return msgspec.convert(value, wanted)
        except msgspec.ValidationError:
            return _read_again(value, wanted)

    def check_members(self, value: Mapping[str, Any], wanted: type[msgspec.Struct]) -> None:
        """Under `--strict`, refuse members that the request does not have."""
        if self.server.settings.strict:
            refuse_unknown("", value, wanted.__struct_fields__)

    async def disconnected(self) -> None:
        """Ends when the client's connection does."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def body(self, limit: int | None = None) -> bytes:
        """The body as it came, no larger than `limit`."""
        self._check_media_type()
        most = self.server.settings.max_body_bytes
        limit = most if limit is None else min(limit, most)
        length = self.header("content-length")
        if length is not None and not (length.isdecimal() and len(length) < 20):
            raise _too_large(limit)
        if length is not None and int(length) > limit:
            raise _too_large(limit)
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                raise _too_large(limit)
            if not message.get("more_body", False):
                return b"".join((*chunks, chunk)) if chunks else chunk
            chunks.append(chunk)

    def _check_media_type(self) -> None:
        given = self.header("content-type")
        if given and given.partition(";")[0].strip().lower() not in MEDIA_TYPES:
            raise InvalidRequest(
                f"Content-Type {given[:100]!r} is not supported; send {' or '.join(MEDIA_TYPES)}",
                details={"header": "Content-Type", "allowed": list(MEDIA_TYPES)},
            )


def new_request_id(random_bits: RandomBits) -> str:
    """The name of a request that has none of its own."""
    return "req_" + uuid7(wall_ms(), random_bits)


def parsed(body: bytes) -> Any:
    """A body as a JSON object."""
    if not body:
        raise MalformedPayload("the body is empty; a JSON object is needed")
    return _object(body)


def _object(body: bytes) -> Any:
    try:
        value = codec.decode(body)
    except codec.MalformedJSON as error:
        raise MalformedPayload(f"the body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise MalformedPayload(f"the body must be a JSON object, not {kind_of(value)}")
    return value


def _read_again(value: Mapping[str, Any], wanted: type[Wanted]) -> Wanted:
    # JSON Schema, and languages without integers, take 1.0 for one.
    types = {field.name: field.type for field in msgspec.structs.fields(wanted)}
    whole = {
        name: int(item)
        if isinstance(item, float) and item.is_integer() and types.get(name) is not Any
        else item
        for name, item in value.items()
    }
    try:
        return msgspec.convert(whole, wanted)
    except msgspec.ValidationError as error:
        raise _invalid(error) from None


def _invalid(error: msgspec.ValidationError) -> InvalidRequest:
    message, _, path = str(error).partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    if missing := message.startswith("Object missing required field"):
        field = message.split("`")[1]
    text = "is missing" if missing else message[:1].lower() + message[1:]
    return InvalidRequest(f"`{field}` {text}", details={"field": field})


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"the body is larger than {limit} bytes",
        details={"limit": limit},
        headers={"Connection": "close"},
    )
