"""`ServerReflection`: which services are served, and the files that describe them.

The two versions that tools speak, v1 and v1alpha, differ in their names alone.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from google.protobuf.descriptor import FileDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc import StatusCode

from ojs_server.grpc.calls import Rpc
from ojs_server.grpc.common_services import HEALTH, REFLECTIONS, SERVICES
from ojs_server.grpc.errors import stopping
from ojs_server.grpc.handlers import Behaviour, Service, parsed
from ojs_server.http.route import V1

# A call that every key may make.
_ROUTE: Final = ("GET", f"{V1}/jobs/{{id}}")


def reflections(services: Iterable[Service]) -> Sequence[Service]:
    """Return the services that reflect these, themselves, and the health."""
    common = [SERVICES[name] for name in (HEALTH, *REFLECTIONS)]
    served = [*(service.descriptor for service in services), *common]
    described = _Described(served)
    return [
        Service(
            SERVICES[name],
            {"ServerReflectionInfo": Behaviour(_ROUTE, _Reflecting(described, SERVICES[name]))},
        )
        for name in REFLECTIONS
    ]


class _Described:
    """The names of services, and the files that describe them."""

    def __init__(self, services: Sequence[ServiceDescriptor]) -> None:
        self.names = [service.full_name for service in services]
        self._pool = DescriptorPool()
        for file in _with_needed(service.file for service in services):
            self._pool.AddSerializedFile(file.serialized_pb)

    def file_named(self, name: str) -> list[bytes]:
        """Return a file and all that it needs; raises KeyError."""
        return _texts(self._pool.FindFileByName(name))

    def file_of(self, symbol: str) -> list[bytes]:
        """Return the file that declares a symbol, and all that it needs; raises KeyError."""
        service, _, method = symbol.rpartition(".")
        try:
            # The pool finds no calls by their names.
            call = self._pool.FindServiceByName(service).methods_by_name[method]
            file = call.containing_service.file
        except KeyError:
            file = self._pool.FindFileContainingSymbol(symbol)
        return _texts(file)

    def require_message(self, name: str) -> None:
        """Raise KeyError if there is no message of this name."""
        self._pool.FindMessageTypeByName(name)


def _texts(file: FileDescriptor) -> list[bytes]:
    # The file that was asked for comes first.
    return [each.serialized_pb for each in reversed(list(_with_needed([file])))]


def _with_needed(files: Iterable[FileDescriptor]) -> Iterator[FileDescriptor]:
    """Yield files once each, behind those that they import."""
    seen: set[str] = set()

    def visit(file: FileDescriptor) -> Iterator[FileDescriptor]:
        if file.name not in seen:
            seen.add(file.name)
            for needed in file.dependencies:
                yield from visit(needed)
            yield file

    for file in files:
        yield from visit(file)


class _Reflecting:
    """Answers the requests of one stream, in the messages of one version."""

    def __init__(self, described: _Described, service: ServiceDescriptor) -> None:
        self._described = described
        (method,) = service.methods
        self._request_type: type[Message] = GetMessageClass(method.input_type)
        self._response_type: type[Any] = GetMessageClass(method.output_type)

    async def __call__(self, rpc: Rpc, message: Any) -> None:
        """Answer each request as it comes, until there is no other."""
        closing = asyncio.ensure_future(rpc.server.engine.wakeups.until_closed())
        closing.add_done_callback(lambda _: rpc.give_up(stopping()))
        try:
            while await rpc.write(self._answer(message)):
                request = await rpc.read_next()
                if request is None:
                    return
                message = parsed(request, self._request_type)
        finally:
            closing.cancel()

    def _answer(self, message: Any) -> Message:
        answer: Message = self._response_type(valid_host=message.host, original_request=message)
        kind = message.WhichOneof("message_request")
        try:
            self._fill(answer, kind, message)
        except KeyError:
            _refuse(answer, StatusCode.NOT_FOUND, f"nothing that is served has this {kind}")
        return answer

    def _fill(self, answer: Any, kind: str | None, message: Any) -> None:
        if kind == "list_services":
            for name in self._described.names:
                answer.list_services_response.service.add(name=name)
        elif kind == "file_by_filename":
            files = self._described.file_named(message.file_by_filename)
            answer.file_descriptor_response.file_descriptor_proto.extend(files)
        elif kind == "file_containing_symbol":
            files = self._described.file_of(message.file_containing_symbol)
            answer.file_descriptor_response.file_descriptor_proto.extend(files)
        elif kind == "all_extension_numbers_of_type":
            # No message has extensions.
            self._described.require_message(message.all_extension_numbers_of_type)
            answer.all_extension_numbers_response.base_type_name = (
                message.all_extension_numbers_of_type
            )
        elif kind == "file_containing_extension":
            raise KeyError
        else:
            _refuse(answer, StatusCode.INVALID_ARGUMENT, "the request asks for nothing")


def _refuse(answer: Any, status: StatusCode, message: str) -> None:
    number: int = status.value[0]
    answer.error_response.error_code = number
    answer.error_response.error_message = message
