"""Register and remove schemas, and validate new jobs against them.

Every node holds the list of schemas in memory, under a number that each transaction compares, so a
schema counts on all nodes from their next transaction. The text of one is read when a job is first
validated against it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ojs_server.domain.errors import (
    Conflict,
    Duplicate,
    InvalidRequest,
    NotFound,
    OjsError,
    ValidationError,
    invalid,
)
from ojs_server.domain.jobs.validate import Draft
from ojs_server.domain.schemas.compatibility import Breach, breaches
from ojs_server.domain.schemas.schema import (
    MAX_SCHEMAS,
    Schema,
    SchemaMark,
    applying,
    is_sealed,
    neighbours,
)
from ojs_server.domain.version import Version
from ojs_server.ops.operation import Operation, Stage, handles
from ojs_server.ops.unit_of_work import Work
from ojs_wire import codec

if TYPE_CHECKING:
    from ojs_server.ops.schemas.json_schema import Compiled

# Number of compiled schemas, cached by the digest of their text, so that no entry can be outdated.
MAX_COMPILED: Final = 256
_compiled: Final[dict[bytes, "Compiled"]] = {}


class RegisterSchema(Operation[Schema], frozen=True):
    """Store a version of a type's schema that compiles and is compatible with its neighbours."""

    stage = Stage.SCHEMAS
    settings = True

    schema: Schema
    compatible_with: tuple[Version, ...] = ()

    @property
    def keys(self) -> tuple[object, ...]:
        return (("schema", self.schema.mark.type),)


class Broken(msgspec.Struct, frozen=True):
    """A version that is incompatible with an older one, and the places."""

    older: Version
    newer: Version
    breaches: Sequence[Breach]


class RemoveSchema(Operation[None], frozen=True):
    """Delete a version of a type's schema."""

    stage = Stage.SCHEMAS
    settings = True

    job_type: str
    version: Version

    @property
    def keys(self) -> tuple[object, ...]:
        return (("schema", self.job_type),)


class Complaint(msgspec.Struct, frozen=True):
    """A job whose arguments violate its schema: its index in the request, and the violations."""

    index: int
    mark: SchemaMark
    violations: Sequence[Mapping[str, str]]

    @property
    def message(self) -> str:
        """Return a short error message."""
        first = self.violations[0]
        return (
            f"the arguments do not fit the schema of {self.mark.type}, version "
            f"{self.mark.version}: {first['path']}: {first['message']}"
        )


@handles(Stage.SCHEMAS)
def run(work: Work, ops: Sequence[RegisterSchema | RemoveSchema]) -> list[Schema | OjsError | None]:
    """Handle these rare calls one after the other."""
    # The lock includes versions that another node is registering now.
    work.tx.lock_schemas()
    return [
        _register(work, op) if isinstance(op, RegisterSchema) else _remove(work, op) for op in ops
    ]


def missing(job_type: str, version: Version | None = None) -> NotFound:
    """Return the error for a schema that does not exist."""
    which = f"schema of {job_type}" if version is None else f"version {version} of {job_type}"
    return NotFound(
        f"there is no {which}",
        details={"resource_type": "schema", "resource_id": job_type},
        hint="GET /ojs/v1/schemas lists the schemas",
    )


def compiled(document: bytes, field: str = "schema") -> "Compiled":
    """Return a compiled schema; raise for the field whose schema does not compile."""
    # Imported only if there are schemas, because it is large.
    from ojs_server.ops.schemas.json_schema import compile_schema

    return compile_schema(codec.decode(document), field)


def hold(work: Work, drafts: Sequence[Draft | None]) -> tuple[Complaint, ...]:
    """Validate the arguments of new jobs; raise if a strict schema is violated."""
    complaints: list[Complaint] = []
    for index, draft in enumerate(drafts):
        if draft is None or draft.type not in work.tx.schemas:
            continue
        mark = applying(work.tx.schemas[draft.type], draft.shape.version)
        mode = "off" if mark is None else mark.mode or work.rules.schema_validation
        if mark is None or mode == "off":
            continue
        violations = _violations(work, mark, draft)
        if violations:
            complaint = Complaint(index, mark, violations)
            if mode == "strict":
                raise _refusal(complaint, many=len(drafts) > 1)
            complaints.append(complaint)
    return tuple(complaints)


def _violations(work: Work, mark: SchemaMark, draft: Draft) -> Sequence[Mapping[str, str]]:
    args: list[Any] = codec.decode(draft.args)
    if is_sealed(args, codec.decode(draft.meta)):
        return ()
    if (ready := _compiled.get(mark.digest)) is None:
        document = work.tx.load_schema(mark.type, mark.version)
        if document is None:
            # Another node has removed it since this transaction began.
            return ()
        ready = compiled(document)
        while len(_compiled) >= MAX_COMPILED:
            _compiled.pop(next(iter(_compiled)), None)
        _compiled[mark.digest] = ready
    return ready.violations(args, "args")


def _refusal(complaint: Complaint, *, many: bool) -> ValidationError:
    where = f"jobs[{complaint.index}]: " if many else ""
    return ValidationError(
        where + complaint.message,
        details={
            "field": "args",
            **({"index": complaint.index} if many else {}),
            "schema_version": str(complaint.mark.version),
            "validation_errors": complaint.violations,
        },
    )


def _register(work: Work, op: RegisterSchema) -> Schema | OjsError:
    mark = op.schema.mark
    if sum(map(len, work.tx.schemas.values())) >= MAX_SCHEMAS:
        return Conflict(
            f"there are {MAX_SCHEMAS} schemas already, and no more are possible",
            details={"limit": MAX_SCHEMAS},
            hint="remove versions that no job has any more",
        )
    marks = work.tx.schemas.get(mark.type, ())
    taken = any(known.version == mark.version for known in marks)
    if not taken and (refusal := _incompatible(work, op, marks)):
        return refusal
    stored = msgspec.structs.replace(op.schema, created_at=work.now)
    if not taken and not work.tx.insert_schema(stored):
        return Duplicate(
            f"another schema has the URI {stored.uri}",
            details={"field": "uri", "uri": stored.uri},
            hint="choose another URI, or remove that schema first",
        )
    if taken:
        return Duplicate(
            f"version {mark.version} of {mark.type} has a schema, and a schema never changes",
            details={"type": mark.type, "version": str(mark.version)},
            hint="register another version, or remove this one first",
        )
    return stored


def breaks(
    schema: Schema,
    promised: Sequence[Version],
    marks: Sequence[SchemaMark],
    text: Callable[[Version], bytes],
) -> Broken | None:
    """Compare a schema with its stored neighbours, and with those it claims to be compatible with.

    `text` returns a stored version. Raises if a claimed version does not exist.
    """
    mark = schema.mark
    for named in promised:
        if all(mark.version != named for mark in marks):
            raise invalid("compatible_with", f"names version {named}, which has no schema")
    below, above = neighbours(marks, mark.version)
    pairs = [(version, mark.version) for version in dict.fromkeys((below, *promised)) if version]
    pairs += [(mark.version, above)] if above else []
    for older, newer in pairs:
        before, after = (
            schema.document if version == mark.version else text(version)
            for version in (older, newer)
        )
        if broken := breaches(codec.decode(before), codec.decode(after)):
            return Broken(older, newer, broken)
    return None


def _incompatible(
    work: Work, op: RegisterSchema, marks: Sequence[SchemaMark]
) -> ValidationError | InvalidRequest | None:
    def text(version: Version) -> bytes:
        stored = work.tx.load_schema(op.schema.mark.type, version)
        # The lock keeps other nodes from removing versions.
        assert stored is not None
        return stored

    try:
        found = breaks(op.schema, op.compatible_with, marks, text)
    except InvalidRequest as refusal:
        return refusal
    return None if found is None else _breaking(found)


def _breaking(found: Broken) -> ValidationError:
    first = found.breaches[0]
    return ValidationError(
        f"version {found.newer} breaks version {found.older}: "
        f"{first.pointer or 'schema'}: {first.message}",
        details={
            "field": "schema",
            "version": str(found.newer),
            "compared_with": str(found.older),
            "breaking_changes": found.breaches,
        },
        hint="register it under the next major version",
    )


def _remove(work: Work, op: RemoveSchema) -> OjsError | None:
    if work.tx.delete_schema(op.job_type, op.version):
        return None
    return missing(op.job_type, op.version)
