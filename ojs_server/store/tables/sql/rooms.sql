-- name: retire_kinds
-- Kinds of rooms that nobody runs and nobody waits for, in a tenant's rooms none of its own jobs.
-- row: at int8, room text, name text, tenant text
UPDATE job_kinds SET deleted_at = gone.at
FROM ({rows}) AS gone
WHERE job_kinds.room = gone.room AND job_kinds.name = gone.name
    AND job_kinds.queue IS NOT NULL AND job_kinds.deleted_at IS NULL
    AND NOT EXISTS (
        SELECT 1 FROM worker_kinds
        WHERE worker_kinds.room = job_kinds.room AND worker_kinds.name = job_kinds.name
    )
    AND NOT EXISTS (SELECT 1 FROM jobs WHERE gone.tenant IS NULL AND {of_kind})
    AND NOT EXISTS (SELECT 1 FROM jobs WHERE {of_kind} AND jobs.tenant = gone.tenant)
