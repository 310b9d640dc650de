-- name: schemas
-- Every schema, the newest version of each type first.
-- returns: SchemaHead
SELECT {SchemaHead} FROM schemas ORDER BY type, major DESC, minor DESC, patch DESC

-- name: insert_schema
-- Store a schema, unless its version or its URI is there.
INSERT INTO schemas (
    type, major, minor, patch, mode, digest, written, created_at, document, uri
)
VALUES (
    :type, :major, :minor, :patch, :mode, :digest,
    :written, :created_at, :document, :uri
)
ON CONFLICT DO NOTHING

-- name: delete_schema
-- Forget a version.
DELETE FROM schemas
WHERE type = :type AND major = :major AND minor = :minor
    AND patch = :patch

-- name: schema_text
-- The text of a version.
SELECT {json:document} FROM schemas
WHERE type = :type AND major = :major AND minor = :minor
    AND patch = :patch

-- name: schema_of_uri
-- The schema of a URI that its client chose.
-- returns: SchemaHead
SELECT {SchemaHead} FROM schemas WHERE uri = :uri

-- name: schemas_of
-- The same of one type.
-- returns: SchemaHead
SELECT {SchemaHead} FROM schemas WHERE type = :type ORDER BY major DESC, minor DESC, patch DESC
