-- fragment: of_kind
-- Waits, and is of a kind.
jobs.state = 'available' AND jobs.gated = 0 AND jobs.queue = job_kinds.queue
    AND jobs.type = job_kinds.type

-- fragment: in_time
-- May still be handed out; the first of them.
(jobs.expires_at IS NULL OR jobs.expires_at > :now) ORDER BY jobs.priority DESC, jobs.seq LIMIT 1

-- fragment: run_by_worker
-- The kinds of rooms that a worker runs.
FROM worker_kinds JOIN job_kinds USING (room, name)
WHERE worker_kinds.worker_id = :worker_id AND job_kinds.queue IS NOT NULL

-- name: oldest_lanes
-- Of what a worker runs, where a job waits: whose head was there first comes first.
SELECT queue, type, head FROM (
    SELECT job_kinds.queue, job_kinds.type, (
        SELECT jobs.seq FROM jobs WHERE {of_kind} AND {in_time}
    ) AS head
    {run_by_worker}
)
WHERE head IS NOT NULL ORDER BY head

-- name: oldest_lanes_of_tenant
-- The same by the jobs of a tenant.
SELECT queue, type, head FROM (
    SELECT job_kinds.queue, job_kinds.type, (
        SELECT jobs.seq FROM jobs WHERE {of_kind} AND jobs.tenant = :tenant AND {in_time}
    ) AS head
    {run_by_worker}
)
WHERE head IS NOT NULL ORDER BY head

-- name: linked
-- What workers run.
-- row: worker_id text
SELECT DISTINCT room, name FROM worker_kinds WHERE worker_id IN ({list})

-- name: start_lease
-- The work has begun; the first word counts.
UPDATE leases SET running_at = COALESCE(running_at, :now) WHERE job_id = :job_id

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
SELECT {Kind} FROM job_kinds WHERE room = :room AND name = :name AND deleted_at IS NULL
