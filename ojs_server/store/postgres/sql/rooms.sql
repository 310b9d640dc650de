-- fragment: of_kind
-- Waits, and is of a kind.
jobs.state = 'available' AND NOT jobs.gated AND jobs.queue = job_kinds.queue
    AND jobs.type = job_kinds.type

-- fragment: in_time
-- May still be handed out; the first of them.
(jobs.expires_at IS NULL OR jobs.expires_at > %(now)s::int8)
    ORDER BY jobs.priority DESC, jobs.seq LIMIT 1

-- name: oldest_lanes
-- Of what a worker runs, where a job waits: whose head was there first comes first. A head that
-- another node is taking is passed over by the claim.
SELECT job_kinds.queue, job_kinds.type, head.seq
FROM worker_kinds JOIN job_kinds USING (room, name)
CROSS JOIN LATERAL (SELECT jobs.seq FROM jobs WHERE {of_kind} AND {in_time}) AS head
WHERE worker_kinds.worker_id = %(worker_id)s::text
ORDER BY head.seq

-- name: oldest_lanes_of_tenant
-- The same by the jobs of a tenant.
SELECT job_kinds.queue, job_kinds.type, head.seq
FROM worker_kinds JOIN job_kinds USING (room, name)
CROSS JOIN LATERAL (
    SELECT jobs.seq FROM jobs WHERE {of_kind} AND jobs.tenant = %(tenant)s::text AND {in_time}
) AS head
WHERE worker_kinds.worker_id = %(worker_id)s::text
ORDER BY head.seq

-- name: linked
-- What workers run.
-- row: worker_id text
SELECT DISTINCT room, name FROM worker_kinds WHERE worker_id = ANY ({list})

-- name: start_lease
-- The work has begun; the first word counts.
UPDATE leases SET running_at = COALESCE(running_at, %(now)s::int8)
WHERE job_id = %(job_id)s::text

-- name: kinds_in
-- The kinds of a room, a row for each worker that runs one.
-- returns: KindRun
SELECT {Kind}, worker_kinds.worker_id
FROM job_kinds LEFT JOIN worker_kinds USING (room, name)
WHERE job_kinds.room = %(room)s::text AND job_kinds.deleted_at IS NULL
ORDER BY job_kinds.name, worker_kinds.worker_id

-- name: kind_named
-- One of them.
-- returns: Kind
SELECT {Kind} FROM job_kinds
WHERE room = %(room)s::text AND name = %(name)s::text AND deleted_at IS NULL
