"""Schemas of the arguments of jobs: how they are registered, found and named."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ojs_server.domain.errors import TooLarge, invalid
from ojs_server.domain.fields import job_type
from ojs_server.domain.naming import nearest
from ojs_server.domain.version import Version, parse_version
from ojs_wire.codec import encode
from ojs_wire.values import kind_of

# What becomes of a job whose arguments do not fit.
MODES: Final = ("off", "warn", "strict")
MAX_SCHEMA: Final = 64 * 1024
MAX_SCHEMAS: Final = 1000
MAX_COMPATIBLE: Final = 10
_URN: Final = re.compile(r"urn:ojs:schema:([^:]+):v([0-9.]+)", re.ASCII)


class SchemaMark(msgspec.Struct, frozen=True):
    """What every transaction knows of a schema; the digest is that of its text."""

    type: str
    version: Version
    mode: str | None
    digest: bytes


class Schema(msgspec.Struct, frozen=True):
    """One version of a type's schema. `written` is the version as it was sent, as JSON."""

    mark: SchemaMark
    written: bytes
    created_at: int
    document: bytes

    @property
    def uri(self) -> str:
        """The name of the schema."""
        version = self.written.decode().strip('"')
        return f"urn:ojs:schema:{self.mark.type}:v{version}"


def read_uri(uri: str) -> tuple[str, str] | None:
    """The type and the version of a schema's name; None for other texts."""
    found = _URN.fullmatch(uri)
    return (found[1], found[2]) if found else None


def registered(given: Mapping[str, Any], now: int) -> Schema:
    """Check all of a registration but whether the schema compiles."""
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
    return Schema(mark, encode(given["version"]), now, text)


def applying(marks: Sequence[SchemaMark], version: Version | None) -> SchemaMark | None:
    """The schema of a job among those of its type, newest first: its version's, else the newest."""
    if version is None:
        return marks[0] if marks else None
    return next((mark for mark in marks if mark.version == version), None)


def compatible_with(given: Mapping[str, Any]) -> tuple[Version, ...]:
    """The versions that a registration says it is compatible with: one, or some."""
    said = given.get("compatible_with")
    listed = [] if said is None else said if isinstance(said, list) else [said]
    if len(listed) > MAX_COMPATIBLE:
        raise invalid("compatible_with", f"may name {MAX_COMPATIBLE} versions, not {len(listed)}")
    return tuple(parse_version("compatible_with", one) for one in listed)


def neighbours(marks: Sequence[SchemaMark], version: Version) -> tuple[Version | None, ...]:
    """The versions just below and just above one with the same major number; marks newest first."""
    kin = [mark.version for mark in marks if mark.version.major == version.major]
    below = next((one for one in kin if one < version), None)
    above = next((one for one in reversed(kin) if one > version), None)
    return below, above


def is_sealed(args: Sequence[Any], meta: Mapping[str, Any]) -> bool:
    """Whether a codec has made the arguments unreadable, so that no schema can be held to them."""
    return meta.get("ojs_encoded") is True or any(
        isinstance(item, dict) and item.get("ojs_encoded") is True for item in args
    )
