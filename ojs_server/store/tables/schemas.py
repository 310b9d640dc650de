"""Schemas of the arguments of jobs.

Every transaction has their list; their texts are read when they are needed.
"""

from collections.abc import Sequence
from itertools import groupby

import msgspec

from ojs_server.domain.schemas.schema import Schema
from ojs_server.domain.version import Version
from ojs_server.store.records import Marks, SchemaHead
from ojs_server.store.tables.statements import Statements, Writing


class SchemaWrites(Writing):
    """Schemas in a write transaction."""

    # As they were when the transaction began.
    schemas: Marks

    def insert_schema(self, schema: Schema) -> bool:
        """Store a schema; False where its version or its chosen URI is there already."""
        mark = schema.mark
        stored = self.run(
            "insert_schema",
            type=mark.type,
            **mark.version._asdict(),
            mode=mark.mode,
            digest=mark.digest,
            written=schema.written,
            created_at=schema.created_at,
            document=schema.document,
            uri=schema.chosen_uri,
        )
        self._schemas_changed()
        return stored == 1

    def delete_schema(self, job_type: str, version: Version) -> bool:
        """Delete a version of a type's schema."""
        deleted = self.run("delete_schema", type=job_type, **version._asdict())
        self._schemas_changed()
        return deleted == 1

    def load_schema(self, job_type: str, version: Version) -> bytes | None:
        """The text of a schema."""
        rows = self.all("schema_text", type=job_type, **version._asdict())
        return rows[0][0] if rows else None

    def all_schemas(self) -> Marks:
        """Return the stored schemas without texts."""
        marks = [head.mark for head in self.read(SchemaHead, "schemas")]
        return {kind: list(group) for kind, group in groupby(marks, lambda mark: mark.type)}

    def _schemas_changed(self) -> None:
        self.schemas = self.all_schemas()
        self.configs_changed()


class SchemaReads(Statements):
    """Schemas outside of a transaction."""

    def schemas(self, job_type: str | None = None) -> list[Schema]:
        """All schemas by type, or those of one, each type's newest first; all without texts."""
        if job_type is None:
            return list(map(_schema, self.read(SchemaHead, "schemas")))
        if not self.can_hold(job_type):
            return []
        return list(map(_schema, self.read(SchemaHead, "schemas_of", type=job_type)))

    def schema(self, job_type: str, version: Version | None) -> Schema | None:
        """A version of a type's schema, or the newest."""
        found = self.schemas(job_type)
        return self._whole([head for head in found if version in (None, head.mark.version)][:1])

    def schema_of_uri(self, uri: str) -> Schema | None:
        """Return the schema that a client gave this URI."""
        found = self.read(SchemaHead, "schema_of_uri", uri=uri) if self.can_hold(uri) else []
        return self._whole(list(map(_schema, found)))

    def _whole(self, chosen: Sequence[Schema]) -> Schema | None:
        """A schema with its text, if that is still there."""
        for head in chosen:
            bound = head.mark.version._asdict()
            for row in self.all("schema_text", type=head.mark.type, **bound):
                return msgspec.structs.replace(head, document=row[0])
        return None


def _schema(head: SchemaHead) -> Schema:
    """A schema without its text."""
    return Schema(head.mark, head.written, head.created_at, b"", head.uri)
