-- name: schemas
-- List all schemas, the newest version of each type first.
-- returns: SchemaHead
SELECT {SchemaHead} FROM schemas ORDER BY type, major DESC, minor DESC, patch DESC

-- name: insert_schema
-- Store a schema, unless its version or its URI exists.
-- changes: schemas
INSERT INTO schemas (
    type, major, minor, patch, mode, digest, written, created_at, document, uri
)
VALUES (
    :type, :major, :minor, :patch, :mode, :digest,
    :written, :created_at, :document, :uri
)
ON CONFLICT DO NOTHING

-- name: delete_schema
-- Delete a version.
-- changes: schemas
DELETE FROM schemas
WHERE type = :type AND major = :major AND minor = :minor
    AND patch = :patch

-- name: schema_text
-- Load the text of a version.
SELECT {json:document} FROM schemas
WHERE type = :type AND major = :major AND minor = :minor
    AND patch = :patch

-- name: schema_of_uri
-- Load the schema with a URI that its client chose.
-- returns: SchemaHead
SELECT {SchemaHead} FROM schemas WHERE uri = :uri

-- name: schemas_of
-- List the schemas of one type, newest version first.
-- returns: SchemaHead
SELECT {SchemaHead} FROM schemas WHERE type = :type ORDER BY major DESC, minor DESC, patch DESC
