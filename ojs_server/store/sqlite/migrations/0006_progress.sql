-- Progress and checkpoints beside jobs, traces of jobs, and silence that a job itself limits.

ALTER TABLE jobs ADD COLUMN trace_id TEXT;
-- Bits for the tables below that have a row of the job; see domain/jobs/attachments.py.
ALTER TABLE jobs ADD COLUMN beside INTEGER NOT NULL DEFAULT 0;

ALTER TABLE leases ADD COLUMN stall_ms INTEGER;
-- Heartbeats are told without a look at the job.
ALTER TABLE leases ADD COLUMN trace_id TEXT;

CREATE TABLE checkpoints (
    job_id TEXT NOT NULL PRIMARY KEY,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL,
    saved_at INTEGER NOT NULL
) STRICT;

CREATE TABLE progress (
    job_id TEXT NOT NULL PRIMARY KEY,
    attempt INTEGER NOT NULL,
    value REAL,
    message TEXT,
    data TEXT,
    checkpoint TEXT,
    updated_at INTEGER NOT NULL,
    told_at INTEGER NOT NULL
) STRICT;
