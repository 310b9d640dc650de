-- name: insert_cron_runs
-- Store the outcomes of due times.
-- changes: cron_runs
-- row: CronRun
INSERT INTO cron_runs ({columns})
{rows}

-- name: list_cron
-- List all entries, newest first.
-- returns: CronEntry
SELECT {CronEntry} FROM cron ORDER BY created_at DESC, name

-- name: insert_cron
-- Store new entries. A name that exists is left alone and not returned.
-- changes: cron
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
-- Lock due entries, except those that another node is firing.
-- returns: CronEntry
SELECT {CronEntry} FROM cron WHERE next_run_at <= :now
ORDER BY next_run_at LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: load_held_cron
-- Lock entries with a waiting run that may start, because the last run has ended.
-- returns: CronEntry
SELECT {CronEntry} FROM cron WHERE held > 0 AND {free} ORDER BY name LIMIT :limit
FOR UPDATE SKIP LOCKED

-- fragment: free
-- True if no run of the entry is in progress.
NOT EXISTS (
    SELECT 1 FROM jobs WHERE jobs.id = cron.last_job_id
        AND jobs.state NOT IN ('completed', 'cancelled', 'discarded')
)

-- name: update_cron
-- Store entries that this transaction has locked.
-- changes: cron
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
-- List the keys that registered entries of an owner.
SELECT DISTINCT holder FROM cron WHERE owner = :owner

-- name: delete_cron
-- Delete entries.
-- changes: cron
-- row: name text
DELETE FROM cron WHERE name IN ({list})

-- name: trim_cron_runs
-- Delete all but the newest runs of an entry; a waiting run stays.
-- changes: cron_runs
DELETE FROM cron_runs WHERE held = false AND name = :name AND pos <= (
    SELECT pos FROM cron_runs WHERE name = :name ORDER BY pos DESC
    LIMIT 1 OFFSET :keep
)

-- name: load_held_runs
-- Load the waiting runs of an entry, oldest first.
-- returns: CronRun
SELECT {CronRun} FROM cron_runs WHERE name = :name AND held = true ORDER BY pos

-- name: release_cron_runs
-- Mark runs as not waiting any more.
-- changes: cron_runs
-- row: pos int8
UPDATE cron_runs SET held = false WHERE pos IN ({list})

-- name: delete_cron_runs
-- Delete the runs of entries.
-- changes: cron_runs
-- row: name text
DELETE FROM cron_runs WHERE name IN ({list})

-- name: some_cron
-- Load entries by name, newest first.
-- row: name text
-- returns: CronEntry
SELECT {CronEntry} FROM cron WHERE name IN ({list}) ORDER BY created_at DESC, name

-- name: list_cron_runs
-- List the runs of an entry, newest first.
-- returns: CronRun
SELECT {CronRun} FROM cron_runs WHERE name = :name ORDER BY pos DESC
