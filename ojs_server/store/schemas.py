"""The store contract's part about schemas, which `base.py` takes in.

Which schemas there are every transaction knows; their texts are read when they are needed.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ojs_server.domain.schema import Schema, SchemaMark
from ojs_server.domain.version import Version

Marks = Mapping[str, Sequence[SchemaMark]]


class SchemaTx(Protocol):
    """Schemas in a write transaction."""

    # By type, newest first, as they were when the transaction began.
    schemas: Marks

    def lock_schemas(self) -> None:
        """Wait for others that change schemas, and know what they have stored."""

    def insert_schema(self, schema: Schema) -> bool:
        """Store a schema; False where its version or its chosen URI is there already."""

    def delete_schema(self, job_type: str, version: Version) -> bool:
        """Forget a version of a type's schema; False where there is none."""

    def load_schema(self, job_type: str, version: Version) -> bytes | None:
        """The text of a schema."""


class SchemaReader(Protocol):
    """Schemas outside of a transaction."""

    def schemas(self, job_type: str | None = None) -> list[Schema]:
        """All schemas by type, or those of one, each type's newest first; all without texts."""

    def schema(self, job_type: str, version: Version | None) -> Schema | None:
        """A version of a type's schema, or the newest."""

    def schema_of_uri(self, uri: str) -> Schema | None:
        """Return the schema that a client gave this URI."""
