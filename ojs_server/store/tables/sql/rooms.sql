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

-- fragment: of_kind
-- Waits, and is of a kind.
jobs.state = 'available' AND jobs.gated = false AND jobs.queue = job_kinds.queue
    AND jobs.type = job_kinds.type

-- fragment: in_time
-- May still be handed out; the first of them.
(jobs.expires_at IS NULL OR jobs.expires_at > :now)
    ORDER BY jobs.priority DESC, jobs.seq LIMIT 1

-- name: linked
-- What workers run.
-- row: worker_id text
SELECT DISTINCT room, name FROM worker_kinds WHERE worker_id IN ({list})

-- name: start_lease
-- The work has begun; the first word counts.
UPDATE leases SET running_at = COALESCE(running_at, :now)
WHERE job_id = :job_id

-- name: kinds_in
-- The kinds of a room, a row for each worker that runs one.
-- returns: KindRun
SELECT {Kind}, worker_kinds.worker_id
FROM job_kinds LEFT JOIN worker_kinds USING (room, name)
WHERE job_kinds.room = :room AND job_kinds.deleted_at IS NULL
ORDER BY job_kinds.name, worker_kinds.worker_id

-- name: kind_named
-- One of them.
-- returns: Kind
SELECT {Kind} FROM job_kinds
WHERE room = :room AND name = :name AND deleted_at IS NULL
