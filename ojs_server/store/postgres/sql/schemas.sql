-- fragment: schema
-- A Schema without its text.
type, major, minor, patch, mode, digest, written, created_at

-- name: insert_schema
-- A new schema; a version that is there stays as it is.
INSERT INTO schemas (type, major, minor, patch, mode, digest, written, created_at, document)
VALUES (
    %(type)s::text, %(major)s::int8, %(minor)s::int8, %(patch)s::int8, %(mode)s::text, %(digest)s::bytea,
    %(written)s::bytea, %(created_at)s::int8, %(document)s::bytea
)
ON CONFLICT (type, major, minor, patch) DO NOTHING

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

-- name: schemas
-- Every schema, the newest version of each type first.
SELECT {schema} FROM schemas ORDER BY type, major DESC, minor DESC, patch DESC

-- name: schemas_of
-- The same of one type.
SELECT {schema} FROM schemas WHERE type = %(type)s::text ORDER BY major DESC, minor DESC, patch DESC
