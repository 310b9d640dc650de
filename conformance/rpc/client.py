"""Calls of gRPC as cases make them: messages are JSON, by protobuf's own mapping.

Members have the names of the .proto files, integers of 64 bits are strings, and members that were
not set are left out of an answer, as far as protobuf can tell.
"""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2
from grpc import aio

from conformance.verdicts.exchanges import Exchange, Received, cut
from conformance.verdicts.grpc_statuses import Status
from conformance.verdicts.reply import CheckFailed, Record, Reply, record, reply_of
from conformance.verdicts.result import FailedCheck

LIMIT_S: Final = 20.0
_DETAILS: Final = "grpc-status-details-bin"
# Keeps the flow-control window at HTTP/2's initial size.
_NARROW: Final = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1024))


@cache
def _services() -> DescriptorPool:
    """The services and messages, as `make proto` keeps them beside this module."""
    kept = FileDescriptorSet.FromString(
        resources.files("conformance.rpc").joinpath("messages.binpb").read_bytes()
    )
    pool = DescriptorPool()
    for file in kept.file:
        pool.Add(file)
    return pool


class Stub:
    """A client of one service, with metadata that it sends along; reports show what it says."""

    def __init__(
        self,
        exchanges: list[Exchange],
        channel: aio.Channel,
        address: str,
        service: str,
        metadata: Mapping[str, str],
    ) -> None:
        self._exchanges = exchanges
        self._channel = channel
        self._address = address
        self._service = _services().FindServiceByName(service)
        self._metadata = dict(metadata)

    async def call(self, method: str, /, **members: Any) -> Reply:
        """Make a call; any answer is returned, with the status of gRPC.

        For a call that the service is not known to have, an empty message is sent, and the answer
        is not read.
        """
        described = self._service.methods_by_name.get(method)
        number = self._note(method, members)
        call = self._begin(self._channel.unary_unary, method, described, members)
        with suppress(aio.AioRpcError):
            return await self.receive(number, call, await call)
        return await self.receive(number, call, None)

    def stream(self, method: str, /, within_s: float = LIMIT_S, **members: Any) -> "Stream":
        """Begin a call whose answers come one by one, and all within some time."""
        described = self._service.methods_by_name[method]
        number = self._note(method, members)
        call = self._begin(self._channel.unary_stream, method, described, members, within_s)
        return Stream(self, number, call, f"RPC {method}")

    def _begin(
        self,
        make: Callable[..., Any],
        method: str,
        described: MethodDescriptor | None,
        members: Mapping[str, Any],
        within_s: float = LIMIT_S,
    ) -> Any:
        request_type = Empty if described is None else GetMessageClass(described.input_type)
        answer_type = Empty if described is None else GetMessageClass(described.output_type)
        begin = make(
            self._path(method),
            request_serializer=request_type.SerializeToString,
            response_deserializer=answer_type.FromString,
        )
        metadata = tuple(self._metadata.items())
        return begin(ParseDict(dict(members), request_type()), metadata=metadata, timeout=within_s)

    def _path(self, method: str) -> str:
        return f"/{self._service.full_name}/{method}"

    def _note(self, method: str, members: Mapping[str, Any]) -> int:
        url = f"grpc://{self._address}{self._path(method)}"
        body = cut(msgspec.json.encode(members))
        self._exchanges.append(
            Exchange(method="RPC", url=url, request_headers=self._metadata, request_body=body)
        )
        return len(self._exchanges) - 1

    async def receive(self, number: int, call: Any, message: Message | None) -> Reply:
        """The answer to a call, or the error that it ended with."""
        started = time.monotonic()
        status = (await call.code()).value[0]
        headers = _texts(await call.initial_metadata())
        trailers = await call.trailing_metadata() or ()
        body = shown(message) if message is not None else {}
        if status != Status.OK:
            body = _error(await call.details(), dict(trailers).get(_DETAILS))
        received = Received(
            status=status,
            headers={**headers, **_texts(trailers)},
            content=msgspec.json.encode(body),
            duration_ms=int((time.monotonic() - started) * 1000),
        )
        exchange = self._exchanges[number]
        self._exchanges[number] = msgspec.structs.replace(
            exchange, status=status, headers=received.headers, body=cut(received.content)
        )
        return reply_of(f"RPC {exchange.url.rpartition('/')[2]}", received, number)


class Stream:
    """A call whose answers come one by one."""

    def __init__(self, stub: Stub, number: int, call: Any, label: str) -> None:
        self._stub = stub
        self._number = number
        self._call = call
        self._label = label

    async def begun(self) -> None:
        """Return once the server has taken the call, or refused it."""
        await self._call.initial_metadata()

    async def next(self) -> Record:
        """The next message, which must come."""
        try:
            message = await self._call.read()
        except aio.AioRpcError:
            message = aio.EOF
        if message is aio.EOF:
            ended = await self._stub.receive(self._number, self._call, None)
            raise CheckFailed(
                FailedCheck(
                    step_id=self._label,
                    field="stream",
                    expected="another message",
                    actual=f"its end, status {ended.status} {ended.text[:300]}",
                    exchange=self._number,
                )
            )
        reply = reply_of(
            self._label,
            Received(
                status=Status.OK,
                headers={},
                content=msgspec.json.encode(shown(message)),
                duration_ms=0,
            ),
            self._number,
        )
        return record(reply.json, reply)

    async def end(self) -> Reply:
        """Require that the stream ends next, and return how it ended."""
        with suppress(aio.AioRpcError):
            message = await self._call.read()
            if message is not aio.EOF:
                raise CheckFailed(
                    FailedCheck(
                        step_id=self._label,
                        field="stream",
                        expected="its end",
                        actual=msgspec.json.encode(shown(message)).decode()[:300],
                        exchange=self._number,
                    )
                )
        return await self._stub.receive(self._number, self._call, None)

    def leave(self) -> None:
        """Cancel it."""
        self._call.cancel()


@asynccontextmanager
async def connected(
    exchanges: list[Exchange],
    address: str,
    service: str,
    metadata: Mapping[str, str],
    *,
    narrow: bool = False,
) -> AsyncIterator[Stub]:
    """A client of the server at an address, until the end of the block, which adds its calls to
    exchanges; a narrow one takes little that the case has not asked for."""
    async with aio.insecure_channel(address, options=_NARROW if narrow else ()) as channel:
        yield Stub(exchanges, channel, address, service, metadata)


async def answered_bytes(
    address: str, path: str, request: bytes, metadata: Mapping[str, str]
) -> tuple[int, bytes]:
    """Send one message on a stream of a service that is not known here; return the status and the
    first answer, empty if there is none."""
    async with aio.insecure_channel(address) as channel:
        # On the wire a stream of one message is what a single one is.
        begin: Any = channel.unary_stream(path)
        call = begin(request, metadata=tuple(metadata.items()), timeout=LIMIT_S)
        answer = b""
        with suppress(aio.AioRpcError):
            read = await call.read()
            answer = b"" if read is aio.EOF else bytes(read)
        number: int = (await call.code()).value[0]
        return number, answer


def shown(message: Message) -> Any:
    """The JSON of a message."""
    return MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def _texts(metadata: Any) -> dict[str, str]:
    return {name: text for name, text in metadata or () if isinstance(text, str)}


def _error(message: str | None, details: bytes | None) -> dict[str, Any]:
    """An error in the form of OJS: the code and the details are those of its `ErrorInfo`."""
    error: dict[str, Any] = {"message": message or ""}
    for each in status_pb2.Status.FromString(details or b"").details:
        info = error_details_pb2.ErrorInfo()
        if each.Unpack(info):
            error |= {"code": info.reason, "domain": info.domain, "details": dict(info.metadata)}
    return {"error": error}
