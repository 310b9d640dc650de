"""Schemas of the arguments of jobs: registration, look-up and names."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ojs_server.domain.errors import TooLarge, invalid
from ojs_server.domain.fields import job_type
from ojs_server.domain.suggestions import nearest
from ojs_server.domain.version import Version, parse_version
from ojs_wire.codec import Json, encode
from ojs_wire.values import kind_of

# Treatment of jobs whose arguments violate the schema.
MODES: Final = ("off", "warn", "strict")
MAX_SCHEMA: Final = 64 * 1024
MAX_SCHEMAS: Final = 1000
MAX_COMPATIBLE: Final = 10
MAX_URI: Final = 512
# Approximation of RFC 3986 for absolute URIs: a scheme, and no character that needs an escape.
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x20<>\"{}|\\^`\x7f-\U0010ffff]+")
_URN: Final = re.compile(r"urn:ojs:schema:([^:]+):v([0-9.]+)", re.ASCII)


class SchemaMark(msgspec.Struct, frozen=True):
    """The entry of a schema in the list that transactions hold; `digest` is that of its text."""

    type: str
    version: Version
    mode: str | None
    digest: bytes


class Schema(msgspec.Struct, frozen=True):
    """One version of a type's schema. `written` is the version as it was sent, as JSON.

    `chosen_uri` is the name that its client gave it, where that is not the usual one.
    """

    mark: SchemaMark
    written: Json
    created_at: int
    document: Json
    chosen_uri: str | None = None

    @property
    def uri(self) -> str:
        """Return the URI of the schema."""
        if self.chosen_uri is not None:
            return self.chosen_uri
        version = self.written.decode().strip('"')
        return f"urn:ojs:schema:{self.mark.type}:v{version}"


def read_uri(uri: str) -> tuple[str, str] | None:
    """Return the type and the version in a schema's URI; None for other texts."""
    found = _URN.fullmatch(uri)
    return (found[1], found[2]) if found else None


def registered(given: Mapping[str, Any], now: int) -> Schema:
    """Check a registration, except that the schema compiles."""
    kind = job_type({"type": given.get("type")})
    if given.get("version") is None:
        raise invalid("version", "is missing")
    version = parse_version("version", given["version"])
    document = given.get("schema")
    if document is None:
        raise invalid("schema", "is missing")
    if not isinstance(document, dict):
        raise invalid("schema", f"must be a JSON Schema object, not {kind_of(document)}")
    text = encode(document)
    if len(text) > MAX_SCHEMA:
        raise TooLarge(
            f"`schema` has {len(text)} bytes; at most {MAX_SCHEMA} are allowed",
            details={"field": "schema", "size": len(text), "limit": MAX_SCHEMA},
        )
    mode = given.get("mode")
    if mode is not None and mode not in MODES:
        raise invalid("mode", f"must be one of {', '.join(MODES)}{nearest(mode, MODES)}")
    mark = SchemaMark(kind, version, mode, hashlib.sha256(text).digest())
    schema = Schema(mark, encode(given["version"]), now, text)
    uri = _chosen_uri(given.get("uri"), mark)
    return schema if uri in (None, schema.uri) else replace(schema, chosen_uri=uri)


def _chosen_uri(uri: object, mark: SchemaMark) -> str | None:
    """Check the URI that a client gives a schema."""
    if uri is None:
        return None
    if not isinstance(uri, str):
        raise invalid("uri", f"must be a string, not {kind_of(uri)}")
    if len(uri) > MAX_URI or not _URI.fullmatch(uri):
        raise invalid(
            "uri",
            f"must be an absolute URI of {MAX_URI} characters at most, such as "
            "https://example.com/schemas/email.send",
        )
    named = read_uri(uri)
    if named and (named[0], parse_version("uri", named[1])) != (mark.type, mark.version):
        raise invalid("uri", f"names another schema than version {mark.version} of {mark.type}")
    return uri


def applying(marks: Sequence[SchemaMark], version: Version | None) -> SchemaMark | None:
    """Return the schema for a job among those of its type, newest first: its version's, else the
    newest."""
    if version is None:
        return marks[0] if marks else None
    return next((mark for mark in marks if mark.version == version), None)


def compatible_with(given: Mapping[str, Any]) -> tuple[Version, ...]:
    """Return the versions that a registration claims to be compatible with."""
    named = given.get("compatible_with")
    listed = [] if named is None else named if isinstance(named, list) else [named]
    if len(listed) > MAX_COMPATIBLE:
        raise invalid("compatible_with", f"may name {MAX_COMPATIBLE} versions, not {len(listed)}")
    return tuple(parse_version("compatible_with", text) for text in listed)


def neighbours(marks: Sequence[SchemaMark], version: Version) -> tuple[Version | None, ...]:
    """Return the next lower and higher version of the same major number; marks are newest first."""
    kin = [mark.version for mark in marks if mark.version.major == version.major]
    below = next((other for other in kin if other < version), None)
    above = next((other for other in reversed(kin) if other > version), None)
    return below, above


def is_sealed(args: Sequence[Any], meta: Mapping[str, Any]) -> bool:
    """True if the arguments are encoded by a codec, so that no schema can be applied to them."""
    return meta.get("ojs_encoded") is True or any(
        isinstance(item, dict) and item.get("ojs_encoded") is True for item in args
    )
