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

-- name: retire_kinds
-- Mark kinds as deleted that no worker runs and no job waits for.
-- changes: job_kinds
-- row: at int8, room text, name text
UPDATE job_kinds SET deleted_at = gone.at
FROM ({rows}) AS gone
WHERE job_kinds.room = gone.room AND job_kinds.name = gone.name
    AND job_kinds.queue IS NOT NULL AND job_kinds.deleted_at IS NULL
    AND NOT EXISTS (
        SELECT 1 FROM worker_kinds
        WHERE worker_kinds.room = job_kinds.room AND worker_kinds.name = job_kinds.name
    )
    AND NOT EXISTS (SELECT 1 FROM jobs WHERE {of_kind})

-- fragment: of_kind
-- True if the job is available and of the kind.
jobs.state = 'available' AND jobs.gated = false AND jobs.queue = job_kinds.queue
    AND jobs.type = job_kinds.type

-- name: linked
-- List the kinds that workers run.
-- row: worker_id text
SELECT DISTINCT room, name FROM worker_kinds WHERE worker_id IN ({list})

-- name: kinds_in
-- List the kinds of a room, with a row for each worker that runs one. A kind with a queue that no
-- worker runs is there as long as a job waits for it.
-- returns: KindRun
SELECT {Kind}, worker_kinds.worker_id
FROM job_kinds LEFT JOIN worker_kinds USING (room, name)
WHERE job_kinds.room = :room AND job_kinds.deleted_at IS NULL
    AND (
        worker_kinds.worker_id IS NOT NULL OR job_kinds.queue IS NULL
        OR EXISTS (SELECT 1 FROM jobs WHERE {of_kind})
    )
ORDER BY job_kinds.name, worker_kinds.worker_id
