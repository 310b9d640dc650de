"""The services that servers of gRPC have in common: their health, and the reflection of others.

Their descriptors are in a pool of their own, since another library for the same services may have
registered these names already. No modules are generated for them for the same reason.
"""

from collections.abc import Mapping
from typing import Final

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    EnumValueDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool

HEALTH: Final = "grpc.health.v1.Health"
REFLECTIONS: Final = (
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
)

_TYPES: Final[Mapping[str, FieldDescriptorProto.Type.ValueType]] = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "enum": FieldDescriptorProto.TYPE_ENUM,
}
# The messages of reflection, which its two packages share. A field is its number, perhaps
# "repeated", its type and its name; fields behind the name of a union are its members.
_REFLECTION: Final[Mapping[str, tuple[str, ...]]] = {
    "ServerReflectionRequest": (
        "1 string host",
        "oneof message_request",
        "3 string file_by_filename",
        "4 string file_containing_symbol",
        "5 ExtensionRequest file_containing_extension",
        "6 string all_extension_numbers_of_type",
        "7 string list_services",
    ),
    "ExtensionRequest": ("1 string containing_type", "2 int32 extension_number"),
    "ServerReflectionResponse": (
        "1 string valid_host",
        "2 ServerReflectionRequest original_request",
        "oneof message_response",
        "4 FileDescriptorResponse file_descriptor_response",
        "5 ExtensionNumberResponse all_extension_numbers_response",
        "6 ListServiceResponse list_services_response",
        "7 ErrorResponse error_response",
    ),
    "FileDescriptorResponse": ("1 repeated bytes file_descriptor_proto",),
    "ExtensionNumberResponse": ("1 string base_type_name", "2 repeated int32 extension_number"),
    "ListServiceResponse": ("1 repeated ServiceResponse service",),
    "ServiceResponse": ("1 string name",),
    "ErrorResponse": ("1 int32 error_code", "2 string error_message"),
}


def _message(package: str, name: str, fields: tuple[str, ...]) -> DescriptorProto:
    made = DescriptorProto(name=name)
    for field in fields:
        *number, kind, field_name = field.split()
        if kind == "oneof":
            made.oneof_decl.add(name=field_name)
            continue
        added = made.field.add(
            name=field_name,
            number=int(number[0]),
            label="LABEL_REPEATED" if "repeated" in number else "LABEL_OPTIONAL",
            type=_TYPES.get(kind, FieldDescriptorProto.TYPE_MESSAGE),
        )
        if kind not in _TYPES:
            added.type_name = f".{package}.{kind}"
        if made.oneof_decl:
            added.oneof_index = len(made.oneof_decl) - 1
    return made


def _reflection_file(service: str) -> FileDescriptorProto:
    package, _, name = service.rpartition(".")
    call = MethodDescriptorProto(
        name="ServerReflectionInfo",
        input_type=f".{package}.ServerReflectionRequest",
        output_type=f".{package}.ServerReflectionResponse",
        client_streaming=True,
        server_streaming=True,
    )
    return FileDescriptorProto(
        name=f"{package.replace('.', '/')}/reflection.proto",
        package=package,
        syntax="proto3",
        message_type=[_message(package, *entry) for entry in _REFLECTION.items()],
        service=[ServiceDescriptorProto(name=name, method=[call])],
    )


def _health_file() -> FileDescriptorProto:
    """The one call of health that is served."""
    package, _, name = HEALTH.rpartition(".")
    request = _message(package, "HealthCheckRequest", ("1 string service",))
    response = _message(package, "HealthCheckResponse", ("1 enum status",))
    response.field[0].type_name = f".{package}.HealthCheckResponse.ServingStatus"
    words = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
    members = [
        EnumValueDescriptorProto(name=word, number=number) for number, word in enumerate(words)
    ]
    response.enum_type.append(EnumDescriptorProto(name="ServingStatus", value=members))
    call = MethodDescriptorProto(
        name="Check",
        input_type=f".{package}.{request.name}",
        output_type=f".{package}.{response.name}",
    )
    return FileDescriptorProto(
        name=f"{package.replace('.', '/')}/health.proto",
        package=package,
        syntax="proto3",
        message_type=[request, response],
        service=[ServiceDescriptorProto(name=name, method=[call])],
    )


def _services() -> Mapping[str, ServiceDescriptor]:
    pool = DescriptorPool()
    for file in (_health_file(), *map(_reflection_file, REFLECTIONS)):
        pool.Add(file)
    return {name: pool.FindServiceByName(name) for name in (HEALTH, *REFLECTIONS)}


SERVICES: Final = _services()
