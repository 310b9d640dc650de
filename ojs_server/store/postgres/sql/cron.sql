-- fragment: cron_entry
-- A CronEntry, in the order of its fields.
cron.name, cron.expression, cron.timezone, cron.overlap, cron.enabled, cron.definition,
cron.created_at, cron.updated_at, cron.counted_from, cron.next_run_at, cron.last_run_at,
cron.last_job_id, cron.run_count, cron.held

-- fragment: cron_run
-- A CronRun, in the order of its fields.
pos, name, scheduled_at, at, outcome, reason, job_id, manual, held

-- name: insert_cron
-- New entries; a name that exists is left alone and not answered.
-- row: text, text, text, text, bool, bytea, int8, int8, int8, int8, int8, text, int8, int8
INSERT INTO cron (
    name, expression, timezone, overlap, enabled, definition, created_at, updated_at,
    counted_from, next_run_at, last_run_at, last_job_id, run_count, held
)
SELECT * FROM unnest({rows})
ON CONFLICT (name) DO NOTHING RETURNING name

-- name: load_cron
-- Lock entries by name.
-- row: text
SELECT {cron_entry} FROM cron WHERE name = ANY ({rows}) ORDER BY name FOR UPDATE

-- name: load_due_cron
-- Those whose time has come, without those that another node is firing.
SELECT {cron_entry} FROM cron WHERE next_run_at <= %(now)s::int8
ORDER BY next_run_at LIMIT %(limit)s::int8
FOR UPDATE SKIP LOCKED

-- name: load_held_cron
-- Those with a run that may go on, since the one before has ended.
SELECT {cron_entry} FROM cron WHERE held > 0 AND {free} ORDER BY name LIMIT %(limit)s::int8
FOR UPDATE SKIP LOCKED

-- fragment: free
-- No run of the entry is on.
NOT EXISTS (
    SELECT FROM jobs WHERE jobs.id = cron.last_job_id
        AND jobs.state NOT IN ('completed', 'cancelled', 'discarded')
)

-- name: update_cron
-- Changed entries, which this transaction has locked.
-- row: text, text, text, text, bool, bytea, int8, int8, int8, int8, int8, text, int8, int8
UPDATE cron SET
    expression = entry.expression, timezone = entry.timezone, overlap = entry.overlap,
    enabled = entry.enabled, definition = entry.definition, created_at = entry.created_at,
    updated_at = entry.updated_at, counted_from = entry.counted_from,
    next_run_at = entry.next_run_at, last_run_at = entry.last_run_at,
    last_job_id = entry.last_job_id, run_count = entry.run_count, held = entry.held
FROM unnest({rows}) AS entry (
    name, expression, timezone, overlap, enabled, definition, created_at, updated_at,
    counted_from, next_run_at, last_run_at, last_job_id, run_count, held
)
WHERE cron.name = entry.name

-- name: delete_cron
-- Forget entries.
-- row: text
DELETE FROM cron WHERE name = ANY ({rows})

-- name: insert_cron_runs
-- What became of due times.
-- row: int8, text, int8, int8, text, text, text, bool, bool
INSERT INTO cron_runs (pos, name, scheduled_at, at, outcome, reason, job_id, manual, held)
SELECT * FROM unnest({rows})

-- name: trim_cron_runs
-- All but the newest runs of an entry; one that still waits stays.
DELETE FROM cron_runs WHERE NOT held AND name = %(name)s::text AND pos <= (
    SELECT pos FROM cron_runs WHERE name = %(name)s::text ORDER BY pos DESC
    LIMIT 1 OFFSET %(keep)s::int8
)

-- name: load_held_runs
-- The runs of an entry that wait, oldest first.
SELECT {cron_run} FROM cron_runs WHERE name = %(name)s::text AND held ORDER BY pos

-- name: release_cron_runs
-- These wait no longer.
-- row: int8
UPDATE cron_runs SET held = false WHERE pos = ANY ({rows})

-- name: delete_cron_runs
-- Forget the runs of entries.
-- row: text
DELETE FROM cron_runs WHERE name = ANY ({rows})

-- name: list_cron
-- All entries, newest first.
SELECT {cron_entry} FROM cron ORDER BY created_at DESC, name

-- name: some_cron
-- These entries.
-- row: text
SELECT {cron_entry} FROM cron WHERE name = ANY ({rows}) ORDER BY created_at DESC, name

-- name: list_cron_runs
-- The runs of an entry, newest first.
SELECT {cron_run} FROM cron_runs WHERE name = %(name)s::text ORDER BY pos DESC
