-- name: schemas
-- Every schema, the newest version of each type first.
-- returns: SchemaHead
SELECT {SchemaHead} FROM schemas ORDER BY type, major DESC, minor DESC, patch DESC
