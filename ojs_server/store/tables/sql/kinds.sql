-- name: save_kinds
-- New kinds; one that exists keeps what the new one does not say.
-- row: Kind
INSERT INTO job_kinds ({columns})
{rows}
ON CONFLICT (room, name) DO UPDATE SET
    queue = COALESCE(excluded.queue, job_kinds.queue),
    schema = COALESCE(excluded.schema, job_kinds.schema),
    result_schema = COALESCE(excluded.result_schema, job_kinds.result_schema),
    updated_at = excluded.updated_at, deleted_at = excluded.deleted_at

-- name: link_kinds
-- Which worker runs which kind.
-- row: worker_id text, room text, name text
INSERT INTO worker_kinds ({columns})
{rows}
ON CONFLICT DO NOTHING

-- name: add_kinds
-- New kinds; those that exist stay as they are.
-- row: Kind
INSERT INTO job_kinds ({columns})
{rows}
ON CONFLICT (room, name) DO NOTHING

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
SELECT {Kind} FROM job_kinds WHERE room = :room AND name = :name FOR UPDATE

-- name: waiting_before
-- Jobs of a queue and type that a claim takes before one.
SELECT count(*) FROM (
    SELECT 1 FROM jobs
    WHERE state = 'available' AND gated = false AND queue = :queue AND type = :type
        AND (priority > :priority::int4 OR (priority = :priority::int4 AND seq < :seq))
    LIMIT :most
) AS earlier
