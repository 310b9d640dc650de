-- name: insert_schema
-- Store a schema, unless its version or its URI is there.
INSERT INTO schemas (
    type, major, minor, patch, mode, digest, written, created_at, document, uri
)
VALUES (
    %(type)s::text, %(major)s::int8, %(minor)s::int8, %(patch)s::int8, %(mode)s::text, %(digest)s::bytea,
    %(written)s::bytea, %(created_at)s::int8, %(document)s::bytea, %(uri)s::text
)
ON CONFLICT DO NOTHING

-- name: delete_schema
-- Forget a version.
DELETE FROM schemas
WHERE type = %(type)s::text AND major = %(major)s::int8 AND minor = %(minor)s::int8
    AND patch = %(patch)s::int8

-- name: schema_text
-- The text of a version.
SELECT document FROM schemas
WHERE type = %(type)s::text AND major = %(major)s::int8 AND minor = %(minor)s::int8
    AND patch = %(patch)s::int8

-- name: schema_of_uri
-- The schema of a URI that its client chose.
-- returns: SchemaHead
SELECT {SchemaHead} FROM schemas WHERE uri = %(uri)s::text

-- name: schemas_of
-- The same of one type.
-- returns: SchemaHead
SELECT {SchemaHead} FROM schemas WHERE type = %(type)s::text ORDER BY major DESC, minor DESC, patch DESC
