-- name: unlink_kinds
-- Workers that run nothing any more.
-- row: worker_id text
DELETE FROM worker_kinds WHERE worker_id IN ({list})

-- name: kinds_of
-- What a worker runs.
-- returns: Kind
SELECT {Kind} FROM worker_kinds JOIN job_kinds USING (room, name)
WHERE worker_kinds.worker_id = :worker_id AND job_kinds.deleted_at IS NULL
ORDER BY job_kinds.room, job_kinds.name

-- name: kind_of_type
-- The kind that a type stands for.
-- returns: Kind
SELECT {Kind} FROM job_kinds
WHERE room = :room AND type = :type AND deleted_at IS NULL

-- name: lock_kind
-- A kind, deleted or not.
-- returns: Kind
SELECT {Kind} FROM job_kinds WHERE room = :room AND name = :name

-- name: kind_counts
-- How many kinds each worker runs.
-- row: worker_id text
SELECT worker_kinds.worker_id, count(*) FROM worker_kinds JOIN job_kinds USING (room, name)
WHERE worker_kinds.worker_id IN ({list}) AND job_kinds.deleted_at IS NULL
GROUP BY worker_kinds.worker_id

-- name: waiting_before
-- Jobs of a queue and type that a claim takes before one.
SELECT count(*) FROM (
    SELECT 1 FROM jobs
    WHERE state = 'available' AND gated = 0 AND queue = :queue AND type = :type
        AND (priority > :priority OR (priority = :priority AND seq < :seq))
    LIMIT :most
) AS earlier
