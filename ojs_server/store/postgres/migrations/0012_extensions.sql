-- Requirements of jobs on their workers, and the schemas of their arguments.

ALTER TABLE jobs ADD COLUMN demand text COLLATE "C";

-- Jobs that ask for something, by what it is; all others are not in here.
CREATE INDEX jobs_demand ON jobs (queue, demand, priority DESC, seq)
    WHERE state = 'available' AND NOT gated AND demand IS NOT NULL;

-- A version of a type's schema is never changed: it is removed, and another one is registered.
-- The digest is that of the document, so that a node can tell what it has compiled.
CREATE TABLE schemas (
    type text COLLATE "C" NOT NULL,
    major int8 NOT NULL,
    minor int8 NOT NULL,
    patch int8 NOT NULL,
    mode text COLLATE "C",
    digest bytea NOT NULL,
    written bytea NOT NULL,
    created_at int8 NOT NULL,
    document bytea NOT NULL,
    PRIMARY KEY (type, major, minor, patch)
);
