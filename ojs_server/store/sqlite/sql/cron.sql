-- fragment: cron_entry
-- A CronEntry, in the order of its fields.
cron.name, cron.expression, cron.timezone, cron.overlap, cron.enabled,
CAST(cron.definition AS BLOB), cron.created_at, cron.updated_at, cron.counted_from,
cron.next_run_at, cron.last_run_at, cron.last_job_id, cron.run_count, cron.held

-- fragment: cron_run
-- A CronRun, in the order of its fields.
pos, name, scheduled_at, at, outcome, reason, job_id, manual, held

-- name: insert_cron
-- New entries; a name that exists is left alone and not answered.
-- row: (?,?,?,?,?,CAST(? AS TEXT),?,?,?,?,?,?,?,?)
INSERT INTO cron (
    name, expression, timezone, overlap, enabled, definition, created_at, updated_at,
    counted_from, next_run_at, last_run_at, last_job_id, run_count, held
)
{rows} ON CONFLICT (name) DO NOTHING RETURNING name

-- name: load_cron
-- Entries by name.
-- row: ?
SELECT {cron_entry} FROM cron WHERE name IN ({rows})

-- name: load_due_cron
-- Those whose time has come.
SELECT {cron_entry} FROM cron WHERE next_run_at <= :now ORDER BY next_run_at LIMIT :limit

-- name: load_held_cron
-- Those with a run that may go on, since the one before has ended.
SELECT {cron_entry} FROM cron WHERE held > 0 AND {free} ORDER BY name LIMIT :limit

-- fragment: free
-- No run of the entry is on.
NOT EXISTS (
    SELECT 1 FROM jobs WHERE jobs.id = cron.last_job_id
        AND jobs.state NOT IN ('completed', 'cancelled', 'discarded')
)

-- name: update_cron
-- Changed entries.
-- row: (?,?,?,?,?,?,?,?,?,?,?,?,?,?)
UPDATE cron SET
    expression = entry.column2, timezone = entry.column3, overlap = entry.column4,
    enabled = entry.column5, definition = CAST(entry.column6 AS TEXT),
    created_at = entry.column7, updated_at = entry.column8, counted_from = entry.column9,
    next_run_at = entry.column10, last_run_at = entry.column11, last_job_id = entry.column12,
    run_count = entry.column13, held = entry.column14
FROM ({rows}) AS entry WHERE cron.name = entry.column1

-- name: delete_cron
-- Forget entries.
-- row: ?
DELETE FROM cron WHERE name IN ({rows})

-- name: insert_cron_runs
-- What became of due times.
-- row: (?,?,?,?,?,?,?,?,?)
INSERT INTO cron_runs (pos, name, scheduled_at, at, outcome, reason, job_id, manual, held)
{rows}

-- name: trim_cron_runs
-- All but the newest runs of an entry; one that still waits stays.
DELETE FROM cron_runs WHERE held = 0 AND name = :name AND pos <= (
    SELECT pos FROM cron_runs WHERE name = :name ORDER BY pos DESC LIMIT 1 OFFSET :keep
)

-- name: load_held_runs
-- The runs of an entry that wait, oldest first.
SELECT {cron_run} FROM cron_runs WHERE name = :name AND held = 1 ORDER BY pos

-- name: release_cron_runs
-- These wait no longer.
-- row: ?
UPDATE cron_runs SET held = 0 WHERE pos IN ({rows})

-- name: delete_cron_runs
-- Forget the runs of entries.
-- row: ?
DELETE FROM cron_runs WHERE name IN ({rows})

-- name: list_cron
-- All entries, newest first.
SELECT {cron_entry} FROM cron ORDER BY created_at DESC, name

-- name: some_cron
-- These entries.
-- row: ?
SELECT {cron_entry} FROM cron WHERE name IN ({rows}) ORDER BY created_at DESC, name

-- name: list_cron_runs
-- The runs of an entry, newest first.
SELECT {cron_run} FROM cron_runs WHERE name = :name ORDER BY pos DESC
