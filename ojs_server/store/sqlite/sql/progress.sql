-- name: mark_beside
-- What lies beside jobs, each guarded by what lay there before (column 2).
-- row: (?,?,?)
UPDATE jobs SET beside = mark.column3
FROM ({rows}) AS mark
WHERE jobs.id = mark.column1 AND jobs.beside = mark.column2

-- name: save_checkpoints
-- The newest checkpoint replaces the one before.
-- row: (?,?,CAST(? AS TEXT),?,?,CAST(? AS TEXT))
INSERT OR REPLACE INTO checkpoints (job_id, sequence, state, saved_at, step_index, metadata)
{rows}

-- name: load_checkpoints
-- Checkpoints by job.
-- row: ?
SELECT job_id, sequence, CAST(state AS BLOB), saved_at, step_index, CAST(metadata AS BLOB)
FROM checkpoints WHERE job_id IN ({rows})

-- name: drop_checkpoints
-- Gone for good.
-- row: ?
DELETE FROM checkpoints WHERE job_id IN ({rows})

-- name: save_progress
-- How far jobs have come.
-- row: (?,?,?,CAST(? AS TEXT),CAST(? AS TEXT),CAST(? AS TEXT),?,?)
INSERT OR REPLACE INTO progress (
    job_id, attempt, value, message, data, checkpoint, updated_at, told_at
)
{rows}

-- name: load_progress
-- How far jobs have come.
-- row: ?
SELECT
    job_id, attempt, value, CAST(message AS BLOB), CAST(data AS BLOB), CAST(checkpoint AS BLOB),
    updated_at, told_at
FROM progress WHERE job_id IN ({rows})

-- name: drop_progress
-- Gone for good.
-- row: ?
DELETE FROM progress WHERE job_id IN ({rows})

-- name: insert_earlier
-- Deliveries that were lost.
-- row: (?,?,?,?)
INSERT OR REPLACE INTO earlier_holders (job_id, attempt, worker_id, started_at) {rows}

-- name: load_earlier
-- Who held a job before.
SELECT job_id, attempt, worker_id, started_at FROM earlier_holders WHERE job_id = :job_id

-- name: drop_earlier
-- Gone for good.
-- row: ?
DELETE FROM earlier_holders WHERE job_id IN ({rows})
