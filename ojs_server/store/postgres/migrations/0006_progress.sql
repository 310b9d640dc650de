-- Progress and checkpoints beside jobs, traces of jobs, and silence that a job itself limits.

ALTER TABLE jobs ADD COLUMN trace_id text COLLATE "C";
-- Bits for the tables below that have a row of the job; see domain/jobs/attachments.py.
ALTER TABLE jobs ADD COLUMN beside int8 NOT NULL DEFAULT 0;

ALTER TABLE leases ADD COLUMN stall_ms int8;
-- Heartbeats are told without a look at the job.
ALTER TABLE leases ADD COLUMN trace_id text COLLATE "C";

CREATE TABLE checkpoints (
    job_id text COLLATE "C" NOT NULL PRIMARY KEY,
    sequence int8 NOT NULL,
    state bytea NOT NULL,
    saved_at int8 NOT NULL
);

CREATE TABLE progress (
    job_id text COLLATE "C" NOT NULL PRIMARY KEY,
    attempt int8 NOT NULL,
    value float8,
    message bytea,
    data bytea,
    checkpoint bytea,
    updated_at int8 NOT NULL,
    told_at int8 NOT NULL
);
