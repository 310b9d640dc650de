-- Jobs that programs have enqueued within transactions of their own, until a node stores them; and
-- what became of those that were not stored as they are.
CREATE TABLE staged_jobs (
    place INTEGER NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT,
    body TEXT NOT NULL,
    staged_at INTEGER NOT NULL
) STRICT;

CREATE TABLE staged_outcomes (
    id TEXT NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    -- The job that was there before, and stands for this one.
    job_id TEXT,
    code TEXT,
    message TEXT,
    details TEXT
) STRICT;
CREATE INDEX staged_outcomes_at ON staged_outcomes (at);
