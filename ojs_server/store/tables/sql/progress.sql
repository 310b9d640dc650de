-- name: mark_attached
-- Which records are attached to jobs (`Job.attached`), guarded by those that were before.
-- row: id text, expected int8, attached int8
UPDATE jobs SET beside = mark.attached
FROM ({rows}) AS mark
WHERE jobs.id = mark.id AND jobs.beside = mark.expected

-- name: insert_numbers
-- Numbers that jobs are given.
-- row: number int8, job_id text
INSERT INTO job_numbers ({columns})
{rows}

-- name: save_checkpoints
-- The newest checkpoint replaces the one before.
-- row: Checkpoint
INSERT INTO checkpoints ({columns})
{rows}
ON CONFLICT (job_id) DO UPDATE SET
    sequence = excluded.sequence, state = excluded.state, saved_at = excluded.saved_at,
    step_index = excluded.step_index, metadata = excluded.metadata

-- name: load_checkpoints
-- Checkpoints by job.
-- row: job_id text
-- returns: Checkpoint
SELECT {Checkpoint} FROM checkpoints WHERE job_id IN ({list})

-- name: drop_checkpoints
-- Gone for good.
-- row: job_id text
DELETE FROM checkpoints WHERE job_id IN ({list})

-- name: save_progress
-- How far jobs have come.
-- row: Progress
INSERT INTO progress ({columns})
{rows}
ON CONFLICT (job_id) DO UPDATE SET
    attempt = excluded.attempt, value = excluded.value, message = excluded.message,
    data = excluded.data, checkpoint = excluded.checkpoint, updated_at = excluded.updated_at,
    told_at = excluded.told_at

-- name: load_progress
-- How far jobs have come.
-- row: job_id text
-- returns: Progress
SELECT {Progress} FROM progress WHERE job_id IN ({list})

-- name: drop_progress
-- Gone for good.
-- row: job_id text
DELETE FROM progress WHERE job_id IN ({list})

-- name: insert_earlier
-- Deliveries that were lost. After a dead-letter retry the numbers begin again.
-- row: Earlier
INSERT INTO earlier_holders ({columns})
{rows}
ON CONFLICT (job_id, attempt) DO UPDATE SET
    worker_id = excluded.worker_id, started_at = excluded.started_at

-- name: load_earlier
-- Who held a job before.
-- returns: Earlier
SELECT {Earlier} FROM earlier_holders WHERE job_id = :job_id

-- name: drop_earlier
-- Gone for good.
-- row: job_id text
DELETE FROM earlier_holders WHERE job_id IN ({list})

-- name: load_numbers
-- The numbers of jobs.
-- row: job_id text
SELECT job_id, number FROM job_numbers WHERE job_id IN ({list})

-- name: job_numbered
-- The job that has a number.
SELECT job_id FROM job_numbers WHERE number = :number

-- name: drop_numbers
-- Gone for good.
-- row: job_id text
DELETE FROM job_numbers WHERE job_id IN ({list})
