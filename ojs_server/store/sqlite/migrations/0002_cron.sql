-- Cron entries, and the last runs of each.

CREATE TABLE cron (
    name TEXT NOT NULL PRIMARY KEY,
    expression TEXT NOT NULL,
    timezone TEXT NOT NULL,
    overlap TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    definition TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    counted_from INTEGER NOT NULL,
    next_run_at INTEGER,
    last_run_at INTEGER,
    last_job_id TEXT,
    run_count INTEGER NOT NULL,
    held INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX cron_due ON cron (next_run_at) WHERE next_run_at IS NOT NULL;
-- Entries with runs that wait for the one before.
CREATE INDEX cron_held ON cron (name) WHERE held > 0;

CREATE TABLE cron_runs (
    pos INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    scheduled_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    job_id TEXT,
    manual INTEGER NOT NULL,
    held INTEGER NOT NULL
) STRICT;

CREATE INDEX cron_runs_name ON cron_runs (name, pos);
CREATE INDEX cron_runs_held ON cron_runs (name, pos) WHERE held = 1;
