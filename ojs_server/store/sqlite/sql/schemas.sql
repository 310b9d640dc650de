-- fragment: schema
-- A Schema without its text.
type, major, minor, patch, mode, digest, CAST(written AS BLOB), created_at

-- name: insert_schema
-- A new schema; a version that is there stays as it is.
INSERT INTO schemas (type, major, minor, patch, mode, digest, written, created_at, document)
VALUES (
    :type, :major, :minor, :patch, :mode, :digest,
    CAST(:written AS TEXT), :created_at, CAST(:document AS TEXT)
)
ON CONFLICT (type, major, minor, patch) DO NOTHING

-- name: delete_schema
-- Forget a version.
DELETE FROM schemas
WHERE type = :type AND major = :major AND minor = :minor
    AND patch = :patch

-- name: schema_text
-- The text of a version.
SELECT CAST(document AS BLOB) FROM schemas
WHERE type = :type AND major = :major AND minor = :minor
    AND patch = :patch

-- name: schemas
-- Every schema, the newest version of each type first.
SELECT {schema} FROM schemas ORDER BY type, major DESC, minor DESC, patch DESC

-- name: schemas_of
-- The same of one type.
SELECT {schema} FROM schemas WHERE type = :type ORDER BY major DESC, minor DESC, patch DESC
