-- Rows beside a job are read and written only while the job's own row is locked.

-- name: mark_beside
-- What lies beside jobs, each guarded by what lay there before.
-- row: text, int8, int8
UPDATE jobs SET beside = mark.beside
FROM unnest({rows}) AS mark (id, old_beside, beside)
WHERE jobs.id = mark.id AND jobs.beside = mark.old_beside

-- name: save_checkpoints
-- The newest checkpoint replaces the one before.
-- row: text, int8, bytea, int8, int8, bytea
INSERT INTO checkpoints (job_id, sequence, state, saved_at, step_index, metadata)
SELECT * FROM unnest({rows})
ON CONFLICT (job_id) DO UPDATE SET
    sequence = excluded.sequence, state = excluded.state, saved_at = excluded.saved_at,
    step_index = excluded.step_index, metadata = excluded.metadata

-- name: load_checkpoints
-- Checkpoints by job.
-- row: text
SELECT job_id, sequence, state, saved_at, step_index, metadata
FROM checkpoints WHERE job_id = ANY ({rows})

-- name: drop_checkpoints
-- Gone for good.
-- row: text
DELETE FROM checkpoints WHERE job_id = ANY ({rows})

-- name: save_progress
-- How far jobs have come.
-- row: text, int8, float8, bytea, bytea, bytea, int8, int8
INSERT INTO progress (job_id, attempt, value, message, data, checkpoint, updated_at, told_at)
SELECT * FROM unnest({rows})
ON CONFLICT (job_id) DO UPDATE SET
    attempt = excluded.attempt, value = excluded.value, message = excluded.message,
    data = excluded.data, checkpoint = excluded.checkpoint, updated_at = excluded.updated_at,
    told_at = excluded.told_at

-- name: load_progress
-- How far jobs have come.
-- row: text
SELECT job_id, attempt, value, message, data, checkpoint, updated_at, told_at
FROM progress WHERE job_id = ANY ({rows})

-- name: drop_progress
-- Gone for good.
-- row: text
DELETE FROM progress WHERE job_id = ANY ({rows})

-- name: insert_earlier
-- Deliveries that were lost. After a dead-letter retry the numbers begin again.
-- row: text, int8, text, int8
INSERT INTO earlier_holders (job_id, attempt, worker_id, started_at)
SELECT * FROM unnest({rows})
ON CONFLICT (job_id, attempt) DO UPDATE SET
    worker_id = excluded.worker_id, started_at = excluded.started_at

-- name: load_earlier
-- Who held a job before.
SELECT job_id, attempt, worker_id, started_at FROM earlier_holders WHERE job_id = %(job_id)s::text

-- name: drop_earlier
-- Gone for good.
-- row: text
DELETE FROM earlier_holders WHERE job_id = ANY ({rows})
