-- Kinds of jobs that workers name (function blocks, jobs of a room), who runs which, and what is
-- known of workers beyond their age.

-- A kind stands for the jobs of one type, where it names a queue only for those in that queue.
CREATE TABLE job_kinds (
    room TEXT NOT NULL,
    name TEXT NOT NULL,
    queue TEXT,
    type TEXT NOT NULL,
    schema TEXT,
    result_schema TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    PRIMARY KEY (room, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_kinds_type ON job_kinds (type);

-- The kinds of jobs that a worker runs; a claim joins them with the jobs of each queue and type.
CREATE TABLE worker_kinds (
    worker_id TEXT NOT NULL,
    room TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (worker_id, room, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX worker_kinds_kind ON worker_kinds (room, name);

-- Presence as it was last told of; a deleted worker is kept to be listed for a while.
ALTER TABLE workers ADD COLUMN presence TEXT NOT NULL DEFAULT 'online';
ALTER TABLE workers ADD COLUMN deleted_at INTEGER;
ALTER TABLE workers ADD COLUMN principal TEXT;

UPDATE workers SET presence = 'offline' WHERE gone_at IS NOT NULL;

-- The time at which the worker reported the start, which may be later than the claim.
ALTER TABLE leases ADD COLUMN running_at INTEGER;
