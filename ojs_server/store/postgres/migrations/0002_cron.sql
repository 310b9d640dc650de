-- Cron entries, and the last runs of each.

CREATE TABLE cron (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    expression text COLLATE "C" NOT NULL,
    timezone text COLLATE "C" NOT NULL,
    overlap text COLLATE "C" NOT NULL,
    enabled boolean NOT NULL,
    definition bytea NOT NULL,
    created_at int8 NOT NULL,
    updated_at int8 NOT NULL,
    counted_from int8 NOT NULL,
    next_run_at int8,
    last_run_at int8,
    last_job_id text COLLATE "C",
    run_count int8 NOT NULL,
    held int8 NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX cron_due ON cron (next_run_at) WHERE next_run_at IS NOT NULL;
-- Entries with runs that wait for the one before.
CREATE INDEX cron_held ON cron (name) WHERE held > 0;

CREATE TABLE cron_runs (
    pos int8 NOT NULL PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    scheduled_at int8 NOT NULL,
    at int8 NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    reason text COLLATE "C",
    job_id text COLLATE "C",
    manual boolean NOT NULL,
    held boolean NOT NULL
);

CREATE INDEX cron_runs_name ON cron_runs (name, pos);
CREATE INDEX cron_runs_held ON cron_runs (name, pos) WHERE held;
