-- The URI that a client gave its schema, where it is not the usual one.

ALTER TABLE schemas ADD COLUMN uri text COLLATE "C";

CREATE UNIQUE INDEX schemas_uri ON schemas (uri) WHERE uri IS NOT NULL;
