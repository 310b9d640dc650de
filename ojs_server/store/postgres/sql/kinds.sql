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

-- name: add_kinds
-- New kinds; those that exist stay as they are.
-- row: Kind
INSERT INTO job_kinds ({columns})
{rows}
ON CONFLICT (room, name) DO NOTHING

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
