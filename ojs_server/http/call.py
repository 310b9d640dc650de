"""One request on its way through the server, and the answer it gets."""

from collections.abc import AsyncGenerator, Mapping
from itertools import count
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import Receive, Scope

from ojs_server.connection.body_budget import SMALL
from ojs_server.connection.extensions import GIVEN_UP
from ojs_server.domain.errors import InvalidRequest, MalformedPayload, TooLarge
from ojs_server.domain.suggestions import refuse_unknown, refuse_unknown_of_many
from ojs_server.http.access.client_address import address_of
from ojs_server.http.any_call import AnyCall
from ojs_server.http.services import Services
from ojs_server.store.base import Clock
from ojs_wire import codec
from ojs_wire.values import RandomBits, kind_of, uuid7

Body = TypeVar("Body", bound=msgspec.Struct)

MEDIA_TYPES: Final = ("application/openjobspec+json", "application/json")
MAX_REQUEST_ID: Final = 128
# The key under which an ASGI scope holds its call.
CALL: Final = "ojs.call"
# The usual spellings, which are accepted without parsing.
_USUAL_TYPES: Final = {None, *(name.encode() for name in MEDIA_TYPES)}


class Stream:
    """An answer that is sent in chunks until the client or the server ends it."""

    def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield the chunks of the body, in order."""
        raise NotImplementedError

    def close(self) -> None:
        """End the stream; called once, also if nothing was sent."""
        raise NotImplementedError


class Answer(msgspec.Struct, frozen=True):
    """The answer of a handler: a value to encode, bytes of JSON, or a stream."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = {}
    media_type: str | None = None


class Call(AnyCall, HTTPConnection):
    """A request of HTTP as handlers see it: beside what Starlette reads of it, the services of the
    node, its caller, and its body (read once, bounded)."""

    # CORS headers for the page of another origin.
    for_page = ""
    # The media type of the answer, unless the handler chooses one; None until it is known.
    media_type: str | None = None
    # The route, once it is found, and whether the answer is counted in the metrics.
    route: Any = None
    counts = False
    # Bytes of the body that count towards the budget of large bodies.
    held = 0

    def __init__(self, scope: Scope, receive: Receive, server: Services) -> None:
        super().__init__(scope)
        self.server = server
        self._receive = receive
        # Headers as bytes, the last value of each name; Starlette's `headers` searches a list each
        # time.
        self.fields: dict[bytes, bytes] = dict(scope["headers"])

    @property
    def root(self) -> str:
        """The prefix under which this application is mounted."""
        root: str = self.scope.get("root_path", "")
        return root

    @property
    def path(self) -> str:
        """The path behind that prefix."""
        path: str = self.scope["path"]
        return path.removeprefix(self.root)

    def header(self, name: bytes) -> str | None:
        """Return a header's value as text; names are in lower case."""
        value = self.fields.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def address(self) -> str:
        """The address that the request came from, behind proxies that are trusted."""
        return address_of(self.scope, self.server.settings.trusted_proxy)

    @property
    def path_id(self) -> str | None:
        """The id in the path."""
        found: str | None = self.path_params.get("id")
        return found

    @property
    def target(self) -> str:
        """The parameters of the path."""
        return "/".join(self.path_params.values())

    @property
    def is_own_page(self) -> bool:
        """True if a page of this server sent the request: browsers name the Origin of requests that
        may change something, and requests of other origins were refused before."""
        return b"origin" in self.fields and not self.for_page

    async def json(self) -> Any:
        """Decode the body, which must be a JSON object."""
        return parsed(await self.body())

    async def optional_json(self) -> Any:
        """Decode the body as JSON; an empty object without a body."""
        return parsed_if_any(await self.body())

    async def read(self, body_type: type[Body], *, optional: bool = False) -> Body:
        """Decode the body as a request type."""
        return self.parsed(await self.body(), body_type, optional=optional)

    def parsed(self, body: bytes, body_type: type[Body], *, optional: bool = False) -> Body:
        """Decode a body as a request type."""
        # Not decoded into its type directly: members outside the type would not be checked.
        value = parsed_if_any(body) if optional else parsed(body)
        return typed(value, body_type, strict=self.server.settings.strict)

    def typed(self, value: Mapping[str, Any], body_type: type[Body]) -> Body:
        """Decode a JSON object as a request type, or as a part of one."""
        return typed(value, body_type, strict=self.server.settings.strict)

    async def read_of_many(self, body_type: type[Body], *, optional: bool = True) -> Body:
        """Decode the body of a call that changes many things; other members are always refused."""
        value = await (self.optional_json() if optional else self.json())
        refuse_unknown_of_many("", value, body_type.__struct_fields__)
        return typed(value, body_type, strict=False)

    def check_members(self, value: Mapping[str, Any], body_type: type[msgspec.Struct]) -> None:
        """Under `--strict`, refuse members that the request does not have."""
        if self.server.settings.strict:
            refuse_unknown("", value, body_type.__struct_fields__)

    async def disconnected(self) -> None:
        """Wait until the client has disconnected."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def body(self, limit: int | None = None, *, of_any_type: bool = False) -> bytes:
        """Return the body, no larger than `limit`, and with the media type of JSON unless any type
        is allowed."""
        within = self.check_body(limit, of_any_type=of_any_type)
        pieces: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            piece: bytes = message.get("body", b"")
            size += len(piece)
            if size > within:
                raise _too_large(within)
            if size > SMALL:
                self.server.bodies.take(size - self.held)
                self.held = size
            if not message.get("more_body"):
                return b"".join((*pieces, piece)) if pieces else piece
            pieces.append(piece)
            if GIVEN_UP in (self.scope.get("extensions") or {}):
                raise self.scope["extensions"][GIVEN_UP]["why"]

    def check_body(self, limit: int | None = None, *, of_any_type: bool = False) -> int:
        """Check the type, encoding and length of the body by its headers; returns its largest
        size."""
        headers = self.fields
        length = headers.get(b"content-length", b"0")
        # An empty body is of no type, whatever its Content-Type.
        is_empty = length == b"0" and b"transfer-encoding" not in headers
        any_type = of_any_type or is_empty
        if headers.get(b"content-type") not in _USUAL_TYPES and not any_type:
            self._check_media_type()
        if b"content-encoding" in headers:
            self._check_encoding()
        most = self.server.settings.max_body_bytes
        within = most if limit is None else min(limit, most)
        if not (length.isdigit() and len(length) < 20 and int(length) <= within):
            raise _too_large(within)
        return within

    def _check_media_type(self) -> None:
        given = self.header(b"content-type")
        if given and given.partition(";")[0].strip().lower() not in MEDIA_TYPES:
            raise InvalidRequest(
                f"Content-Type {given[:100]!r} is not supported; send {' or '.join(MEDIA_TYPES)}",
                details={"header": "Content-Type", "allowed": list(MEDIA_TYPES)},
            )

    def _check_encoding(self) -> None:
        given = self.header(b"content-encoding")
        if given and given.strip().lower() not in ("", "identity"):
            raise InvalidRequest(
                f"Content-Encoding {given[:100]!r} is not supported; send the body as it is",
                details={"header": "Content-Encoding", "allowed": ["identity"]},
            )


def sent_request_id(call: AnyCall) -> str | None:
    """Return the request id that a client sent, if it is valid."""
    given = call.header(b"x-request-id")
    if given and len(given) <= MAX_REQUEST_ID and given.isascii() and given.isprintable():
        return given
    return None


class RequestIds:
    """Makes ids for requests that have none: UUIDv7s whose last part counts up.

    The other parts are renewed once a second, as that is expensive.
    """

    def __init__(self, random_bits: RandomBits, wall_ms: Clock) -> None:
        self._random_bits = random_bits
        self._wall_ms = wall_ms
        self._until = 0
        self._head = ""
        self._numbers = count()

    def __call__(self) -> str:
        """Return the next id."""
        now = self._wall_ms()
        if now >= self._until:
            self._until = now + 1000
            self._head = f"req_{uuid7(now, self._random_bits)[:-12]}"
            # 47 of 48 bits, so that the counter cannot overflow within a second.
            self._numbers = count(self._random_bits(47))
        return f"{self._head}{next(self._numbers):012x}"


def parsed(body: bytes) -> Any:
    """Decode a body as a JSON object."""
    if not body:
        raise MalformedPayload("the body is empty; a JSON object is needed")
    try:
        value = codec.decode(body)
    except codec.MalformedJSON as error:
        raise MalformedPayload(f"the body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise MalformedPayload(f"the body must be a JSON object, not {kind_of(value)}")
    return value


def parsed_if_any(body: bytes) -> Any:
    """Decode a body as a JSON object, empty if there is no body."""
    return parsed(body) if body.strip() else {}


def typed(value: Mapping[str, Any], body_type: type[Body], *, strict: bool) -> Body:
    """Decode a JSON object as a request type; if `strict`, other members are refused."""
    if strict:
        refuse_unknown("", value, body_type.__struct_fields__)
    try:
        return msgspec.convert(value, body_type)
    except msgspec.ValidationError:
        return _read_again(value, body_type)


def _read_again(value: Mapping[str, Any], body_type: type[Body]) -> Body:
    # JSON Schema, and languages without integers, regard 1.0 as an integer.
    types = {field.name: field.type for field in msgspec.structs.fields(body_type)}
    whole = {
        name: int(item)
        if isinstance(item, float) and item.is_integer() and types.get(name) is not Any
        else item
        for name, item in value.items()
    }
    try:
        return msgspec.convert(whole, body_type)
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
