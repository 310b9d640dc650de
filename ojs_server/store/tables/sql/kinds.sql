-- name: save_kinds
-- Store kinds. One that exists keeps the members that the new one leaves out.
-- changes: job_kinds
-- row: Kind
INSERT INTO job_kinds ({columns})
{rows}
ON CONFLICT (room, name) DO UPDATE SET
    queue = COALESCE(excluded.queue, job_kinds.queue),
    schema = COALESCE(excluded.schema, job_kinds.schema),
    result_schema = COALESCE(excluded.result_schema, job_kinds.result_schema),
    updated_at = excluded.updated_at, deleted_at = excluded.deleted_at

-- name: link_kinds
-- Store which worker runs which kind.
-- changes: worker_kinds
-- row: worker_id text, room text, name text
INSERT INTO worker_kinds ({columns})
{rows}
ON CONFLICT DO NOTHING

-- name: add_kinds
-- Store new kinds; one that exists is left alone.
-- changes: job_kinds
-- row: Kind
INSERT INTO job_kinds ({columns})
{rows}
ON CONFLICT (room, name) DO NOTHING

-- name: unlink_kinds
-- Delete the links of workers to kinds.
-- changes: worker_kinds
-- row: worker_id text
DELETE FROM worker_kinds WHERE worker_id IN ({list})

-- name: kinds_of
-- Load the kinds that a worker runs.
-- returns: Kind
SELECT {Kind} FROM worker_kinds JOIN job_kinds USING (room, name)
WHERE worker_kinds.worker_id = :worker_id AND job_kinds.deleted_at IS NULL
ORDER BY job_kinds.room, job_kinds.name

-- name: kind_of_type
-- Load the kind of a room by its job type.
-- returns: Kind
SELECT {Kind} FROM job_kinds
WHERE room = :room AND type = :type AND deleted_at IS NULL

-- name: lock_kind
-- Lock a kind, deleted or not.
-- returns: Kind
SELECT {Kind} FROM job_kinds WHERE room = :room AND name = :name FOR UPDATE

-- name: waiting_before
-- Count the jobs of a queue and type that are claimed before one, up to a limit.
SELECT count(*) FROM (
    SELECT 1 FROM jobs
    WHERE state = 'available' AND gated = false AND queue = :queue AND type = :type
        AND (priority > :priority::int4 OR (priority = :priority::int4 AND seq < :seq))
    LIMIT :most
) AS earlier
