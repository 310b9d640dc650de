"""Validate the body of an enqueue request into a draft of a job.

A draft has all that a job needs but its time, id and position in the queue.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ojs_server.domain import fields
from ojs_server.domain.errors import InvalidRequest, TooLarge, ValidationError
from ojs_server.domain.jobs.middleware import recorded
from ojs_server.domain.jobs.request_shape import Shape, shape_of
from ojs_server.domain.jobs.unique import Unique, unique_of
from ojs_server.domain.tenants.tenant import scoped, tenant_in, with_tenant
from ojs_server.domain.workers.requirements import demand_of
from ojs_wire import codec, codes
from ojs_wire.tracing import trace_of
from ojs_wire.values import kind_of

MAX_META: Final = 64 * 1024
MAX_ENVELOPE: Final = 1024 * 1024
# A job without arguments is refused if this member of `meta` is true.
VALIDATED: Final = "ojs_validate"
# Not compared: a repeated request has another span.
_SPAN: Final = frozenset({"traceparent", "tracestate"})


NO_META: Final = b"{}"
# Members that vary between the jobs of one producer, besides `args`; few requests have them.
OWN: Final = frozenset({"id", "meta"})


class Draft(msgspec.Struct, frozen=True, gc=False):
    """A checked enqueue: its shape, which others may share, and its own members."""

    shape: Shape
    args: bytes
    meta: bytes
    id: str | None = None
    request_hash: bytes | None = None
    trace_id: str | None = None
    unique: Unique | None = None
    demand: str | None = None
    tenant: str | None = None

    @property
    def type(self) -> str:
        """Return the type of the job."""
        return self.shape.type

    @property
    def queue(self) -> str:
        """Return the name of the queue."""
        return self.shape.queue

    def shaped(self, **changes: Any) -> "Draft":
        """Return this draft with changed settings."""
        return replace(self, shape=replace(self.shape, **changes))


def parse_draft(
    body: object,
    *,
    strict: bool = False,
    any_type: bool = False,
    tenant: str | None = None,
    request_id: str | None = None,
) -> Draft:
    """Check one enqueue request; `tenant` is that of the caller, if any, and `request_id` the
    caller's id of the request, if it sends one. With `any_type` the type may be any text."""
    if not isinstance(body, dict):
        raise InvalidRequest(f"a job must be a JSON object, not {kind_of(body)}")
    shared = body.copy()
    args = shared.pop("args", None)
    plain = tenant is None and request_id is None and OWN.isdisjoint(shared)
    if not plain:
        for name in OWN:
            shared.pop(name, None)
    shape = shape_of(shared, strict=strict, any_type=any_type)
    if plain and shape.plain and type(args) is list:
        text = codec.encode(args)
        # Too small to exceed any limit, so the size checks are skipped.
        if len(text) + len(shape.spec) < MAX_META:
            return Draft(shape, text, NO_META)
    args = fields.args(body)
    meta = _meta_of(body.get("meta"), shape, tenant, request_id)
    tenant = trace_id = None
    if meta:
        tenant, trace_id = tenant_in(meta), trace_of(meta)
        if meta.get(VALIDATED) is True and not args:
            raise ValidationError(
                f"`args` must not be empty where `meta.{VALIDATED}` is true",
                details={"field": "args"},
            )
    client_id = fields.client_id(body.get("id"))
    unique = None
    if shape.outranked is not None:
        unique_of(shape.outranked, shape.type, shape.queue, args, meta, shape.version)
    if shape.unique is not None:
        unique = unique_of(shape.unique, shape.type, shape.queue, args, meta, shape.version)
    args_text, meta_text = codec.encode(args), codec.encode(meta) if meta else NO_META
    check_sizes(args_text, meta_text, shape.spec)
    return Draft(
        shape,
        args_text,
        meta_text,
        client_id,
        hash_of(body, tenant) if client_id else None,
        trace_id,
        unique,
        demand_of(shape.type, shape.version, meta) if meta or shape.version else None,
        tenant,
    )


def _meta_of(
    given: object, shape: Shape, tenant: str | None, request_id: str | None
) -> Mapping[str, Any]:
    if given is None and tenant is None and request_id is None:
        return shape.metadata
    own = fields.object_of("meta", given) or {}
    return recorded(with_tenant({**own, **shape.metadata}, tenant), request_id)


def hash_of(body: object, tenant: str | None = None) -> bytes:
    """Return a hash of a request that ignores its spelling: key order, spaces, escapes.

    It ignores the spans of its jobs, too (OJS-TRC-002).
    """
    text = codec.canonical(_untraced(body))
    return hashlib.sha256(text if tenant is None else scoped(tenant, "").encode() + text).digest()


def _untraced(body: object) -> object:
    if not isinstance(body, dict):
        return body
    meta, jobs = body.get("meta"), body.get("jobs")
    if isinstance(meta, dict) and not _SPAN.isdisjoint(meta):
        left = {name: value for name, value in meta.items() if name not in _SPAN}
        body = {name: value for name, value in body.items() if name != "meta"}
        body |= {"meta": left} if left else {}
    if isinstance(jobs, list):
        body = {**body, "jobs": [_untraced(job) for job in jobs]}
    return body


def check_sizes(args: bytes, meta: bytes, spec: bytes) -> None:
    """Raise TooLarge if a part of a job is too large."""
    if len(meta) > MAX_META:
        raise TooLarge(
            f"`meta` has {len(meta)} bytes; at most {MAX_META} are allowed",
            details={"field": "meta", "size": len(meta), "limit": MAX_META},
        )
    size = len(args) + len(meta) + len(spec)
    if size > MAX_ENVELOPE:
        raise TooLarge(
            f"the job has {size} bytes; at most {MAX_ENVELOPE} are allowed",
            details={"size": size, "limit": MAX_ENVELOPE},
            code=codes.PAYLOAD_TOO_LARGE,
        )
