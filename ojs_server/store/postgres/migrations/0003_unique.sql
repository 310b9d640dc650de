-- Unique jobs: the fingerprint that a job is compared by.
-- It goes with its job. Jobs without one are not in the index and pay nothing for it.

ALTER TABLE jobs ADD COLUMN unique_key bytea;

-- One look for each state: however many finished jobs are alike, only the newest is read.
CREATE INDEX jobs_unique ON jobs (unique_key, state, created_at) WHERE unique_key IS NOT NULL;

-- Makes two nodes that store equal jobs at once wait for each other. It never holds a committed
-- row, so it needs no log and no retention.
CREATE UNLOGGED TABLE unique_locks (unique_key bytea NOT NULL PRIMARY KEY);
