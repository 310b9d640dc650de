-- name: insert_cron_runs
-- What became of due times.
-- row: CronRun
INSERT INTO cron_runs ({columns})
{rows}

-- name: list_cron
-- All entries, newest first.
-- returns: CronEntry
SELECT {CronEntry} FROM cron ORDER BY created_at DESC, name
