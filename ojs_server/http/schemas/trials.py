"""Trials of schemas: validate arguments, or check that a new version is compatible."""

from typing import Any, Final

from ojs_server.domain.errors import invalid
from ojs_server.domain.fields import job_type
from ojs_server.domain.schemas.schema import compatible_with, is_sealed, registered
from ojs_server.domain.version import Version, parse_version
from ojs_server.http import dialects
from ojs_server.http.access.roles import READ
from ojs_server.http.call import Answer, Call
from ojs_server.http.route import Route
from ojs_server.ops.schemas.registry import Broken, breaks, compiled, missing
from ojs_server.store.base import Reader
from ojs_wire.calls import SchemaRequest, SchemaTrial
from ojs_wire.values import kind_of

# Version of the first schema of a type, if its request names none.
_FIRST = Version(1)


async def validate(call: Call) -> Answer:
    """Validate arguments against a version of a schema, or the newest, as for a new job."""
    request, kind = await call.read(SchemaTrial), call.path_params["type"]
    args, meta = request.args, {} if request.meta is None else request.meta
    if not isinstance(args, list):
        raise invalid("args", f"must be an array, not {kind_of(args)}")
    if not isinstance(meta, dict):
        raise invalid("meta", f"must be an object, not {kind_of(meta)}")
    version = None if request.version is None else parse_version("version", request.version)

    def validate(reader: Reader) -> dict[str, Any]:
        schema = reader.schema(kind, version)
        if schema is None:
            raise missing(kind[:100], version)
        sealed = is_sealed(args, meta)
        errors = [] if sealed else compiled(schema.document).violations(args, "args")
        return {
            "type": kind,
            "version": str(schema.mark.version),
            "mode": schema.mark.mode or call.server.engine.rules.schema_validation,
            "valid": not errors,
            "validation_errors": errors,
        }

    return Answer(await call.server.engine.read(validate))


async def compatibility(call: Call) -> Answer:
    """Compare a schema with its neighbours, as its registration would; nothing is stored."""
    body = await call.json()
    call.check_members(body, SchemaRequest)
    kind = job_type({"type": call.path_params["type"]})
    given = {**dialects.schema_request(body), "type": kind}

    def compare(reader: Reader) -> tuple[Version, Broken | None]:
        marks = [schema.mark for schema in reader.schemas(kind)]
        version = given.get("version")
        if version is None:
            version = str(_next(marks[0].version) if marks else _FIRST)
        schema = registered({**given, "version": version}, 0)
        compiled(schema.document)

        def text(version: Version) -> bytes:
            found = reader.schema(kind, version)
            if found is None:
                # It was removed since its type was read.
                raise missing(kind, version)
            return found.document

        found = breaks(schema, compatible_with(given), marks, text)
        return schema.mark.version, found

    version, found = await call.server.engine.read(compare)
    return Answer(
        {
            "type": kind,
            "version": str(version),
            "compatible": found is None,
            "breaking_changes": [] if found is None else found.breaches,
            "older": None if found is None else str(found.older),
            "newer": None if found is None else str(found.newer),
        }
    )


def _next(newest: Version) -> Version:
    """Return the next minor version."""
    return Version(newest.major, newest.minor + 1)


ROUTES: Final = (
    Route("POST", "/schemas/{type}/validate", validate, READ, tenanted=True),
    Route("POST", "/schemas/{type}/compatibility", compatibility, READ, tenanted=True),
)
