-- Requirements of jobs on their workers, and the schemas of their arguments.

ALTER TABLE jobs ADD COLUMN demand TEXT;

-- Jobs that ask for something, by what it is; all others are not in here.
CREATE INDEX jobs_demand ON jobs (queue, demand, priority DESC, seq)
    WHERE state = 'available' AND gated = 0 AND demand IS NOT NULL;

-- A version of a type's schema is never changed: it is removed, and another one is registered.
-- The digest is that of the document, so that a node can tell what it has compiled.
CREATE TABLE schemas (
    type TEXT NOT NULL,
    major INTEGER NOT NULL,
    minor INTEGER NOT NULL,
    patch INTEGER NOT NULL,
    mode TEXT,
    digest BLOB NOT NULL,
    written TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (type, major, minor, patch)
) STRICT;
