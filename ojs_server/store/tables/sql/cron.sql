-- name: insert_cron_runs
-- What became of due times.
-- row: CronRun
INSERT INTO cron_runs ({columns})
{rows}

-- name: list_cron
-- All entries, newest first.
-- returns: CronEntry
SELECT {CronEntry} FROM cron ORDER BY created_at DESC, name

-- name: insert_cron
-- New entries; a name that exists is left alone and not answered.
-- row: CronEntry
INSERT INTO cron ({columns})
{rows}
ON CONFLICT (name) DO NOTHING RETURNING name

-- name: load_cron
-- Lock entries by name.
-- row: name text
-- returns: CronEntry
SELECT {CronEntry} FROM cron WHERE name IN ({list}) ORDER BY name FOR UPDATE

-- name: load_due_cron
-- Those whose time has come, without those that another node is firing.
-- returns: CronEntry
SELECT {CronEntry} FROM cron WHERE next_run_at <= :now
ORDER BY next_run_at LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: load_held_cron
-- Those with a run that may go on, since the one before has ended.
-- returns: CronEntry
SELECT {CronEntry} FROM cron WHERE held > 0 AND {free} ORDER BY name LIMIT :limit
FOR UPDATE SKIP LOCKED

-- fragment: free
-- No run of the entry is on.
NOT EXISTS (
    SELECT 1 FROM jobs WHERE jobs.id = cron.last_job_id
        AND jobs.state NOT IN ('completed', 'cancelled', 'discarded')
)

-- name: update_cron
-- Changed entries, which this transaction has locked.
-- row: CronEntry
UPDATE cron SET
    expression = entry.expression, timezone = entry.timezone, overlap = entry.overlap,
    enabled = entry.enabled, definition = entry.definition, created_at = entry.created_at,
    updated_at = entry.updated_at, counted_from = entry.counted_from,
    next_run_at = entry.next_run_at, last_run_at = entry.last_run_at,
    last_job_id = entry.last_job_id, run_count = entry.run_count, held = entry.held,
    owner = entry.owner, holder = entry.holder
FROM ({rows}) AS entry
WHERE cron.name = entry.name

-- name: cron_holders
-- The keys that registered entries of an owner.
SELECT DISTINCT holder FROM cron WHERE owner = :owner

-- name: delete_cron
-- Forget entries.
-- row: name text
DELETE FROM cron WHERE name IN ({list})

-- name: trim_cron_runs
-- All but the newest runs of an entry; one that still waits stays.
DELETE FROM cron_runs WHERE held = false AND name = :name AND pos <= (
    SELECT pos FROM cron_runs WHERE name = :name ORDER BY pos DESC
    LIMIT 1 OFFSET :keep
)

-- name: load_held_runs
-- The runs of an entry that wait, oldest first.
-- returns: CronRun
SELECT {CronRun} FROM cron_runs WHERE name = :name AND held = true ORDER BY pos

-- name: release_cron_runs
-- These wait no longer.
-- row: pos int8
UPDATE cron_runs SET held = false WHERE pos IN ({list})

-- name: delete_cron_runs
-- Forget the runs of entries.
-- row: name text
DELETE FROM cron_runs WHERE name IN ({list})

-- name: some_cron
-- These entries.
-- row: name text
-- returns: CronEntry
SELECT {CronEntry} FROM cron WHERE name IN ({list}) ORDER BY created_at DESC, name

-- name: list_cron_runs
-- The runs of an entry, newest first.
-- returns: CronRun
SELECT {CronRun} FROM cron_runs WHERE name = :name ORDER BY pos DESC
