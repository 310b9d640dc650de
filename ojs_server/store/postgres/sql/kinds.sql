-- name: unlink_kinds
-- Workers that run nothing any more.
-- row: worker_id text
DELETE FROM worker_kinds WHERE worker_id = ANY ({list})

-- name: kinds_of
-- What a worker runs.
-- returns: Kind
SELECT {Kind} FROM worker_kinds JOIN job_kinds USING (room, name)
WHERE worker_kinds.worker_id = %(worker_id)s::text AND job_kinds.deleted_at IS NULL
ORDER BY job_kinds.room, job_kinds.name

-- name: kind_of_type
-- The kind that a type stands for.
-- returns: Kind
SELECT {Kind} FROM job_kinds
WHERE room = %(room)s::text AND type = %(type)s::text AND deleted_at IS NULL

-- name: lock_kind
-- A kind, deleted or not.
-- returns: Kind
SELECT {Kind} FROM job_kinds WHERE room = %(room)s::text AND name = %(name)s::text FOR UPDATE

-- name: kind_counts
-- How many kinds each worker runs.
-- row: worker_id text
SELECT worker_kinds.worker_id, count(*) FROM worker_kinds
CROSS JOIN LATERAL (
    SELECT 1 FROM job_kinds
    WHERE job_kinds.room = worker_kinds.room AND job_kinds.name = worker_kinds.name
        AND job_kinds.deleted_at IS NULL
    LIMIT 1
) AS kind
WHERE worker_kinds.worker_id = ANY ({list})
GROUP BY worker_kinds.worker_id

-- name: waiting_before
-- Jobs of a queue and type that a claim takes before one.
SELECT count(*) FROM (
    SELECT 1 FROM jobs
    WHERE state = 'available' AND NOT gated AND queue = %(queue)s::text AND type = %(type)s::text
        AND (priority > %(priority)s::int4 OR (priority = %(priority)s::int4 AND seq < %(seq)s::int8))
    LIMIT %(most)s::int8
) AS earlier
