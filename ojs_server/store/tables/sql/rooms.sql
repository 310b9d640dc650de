-- name: retire_kinds
-- Mark kinds as deleted that no worker runs and no job waits for; in a tenant's room only its own
-- jobs count.
-- changes: job_kinds
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
-- True if the job is available and of the kind.
jobs.state = 'available' AND jobs.gated = false AND jobs.queue = job_kinds.queue
    AND jobs.type = job_kinds.type

-- fragment: in_time
-- The first job that has not expired.
(jobs.expires_at IS NULL OR jobs.expires_at > :now)
    ORDER BY jobs.priority DESC, jobs.seq LIMIT 1

-- name: linked
-- List the kinds that workers run.
-- row: worker_id text
SELECT DISTINCT room, name FROM worker_kinds WHERE worker_id IN ({list})

-- name: start_lease
-- Store the begin of the work; the first report counts.
-- changes: leases
UPDATE leases SET running_at = COALESCE(running_at, :now)
WHERE job_id = :job_id

-- name: kinds_in
-- List the kinds of a room, with a row for each worker that runs one.
-- returns: KindRun
SELECT {Kind}, worker_kinds.worker_id
FROM job_kinds LEFT JOIN worker_kinds USING (room, name)
WHERE job_kinds.room = :room AND job_kinds.deleted_at IS NULL
ORDER BY job_kinds.name, worker_kinds.worker_id

-- name: kind_named
-- Load the kind of a room by its name.
-- returns: Kind
SELECT {Kind} FROM job_kinds
WHERE room = :room AND name = :name AND deleted_at IS NULL
