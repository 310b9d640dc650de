-- The action log.
CREATE TABLE actions (
    pos INTEGER NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    via TEXT NOT NULL,
    tenant TEXT,
    address TEXT NOT NULL,
    call TEXT NOT NULL,
    target TEXT NOT NULL,
    request_id TEXT NOT NULL,
    outcome TEXT NOT NULL
) STRICT;

CREATE INDEX actions_at ON actions (at);
