-- name: mark_attached
-- Store which records are attached to jobs (`Job.attached`), guarded by those before.
-- changes: jobs
-- row: id text, expected int8, attached int8
UPDATE jobs SET beside = mark.attached
FROM ({rows}) AS mark
WHERE jobs.id = mark.id AND jobs.beside = mark.expected

-- name: insert_numbers
-- Store the numbers of jobs.
-- changes: job_numbers
-- row: number int8, job_id text
INSERT INTO job_numbers ({columns})
{rows}

-- name: save_checkpoints
-- Store checkpoints, in place of the ones before.
-- changes: checkpoints
-- row: Checkpoint
INSERT INTO checkpoints ({columns})
{rows}
ON CONFLICT (job_id) DO UPDATE SET
    sequence = excluded.sequence, state = excluded.state, saved_at = excluded.saved_at,
    step_index = excluded.step_index, metadata = excluded.metadata

-- name: load_checkpoints
-- Load checkpoints by job.
-- row: job_id text
-- returns: Checkpoint
SELECT {Checkpoint} FROM checkpoints WHERE job_id IN ({list})

-- name: drop_checkpoints
-- Delete the checkpoints of jobs.
-- changes: checkpoints
-- row: job_id text
DELETE FROM checkpoints WHERE job_id IN ({list})

-- name: save_progress
-- Store progress reports, in place of the ones before.
-- changes: progress
-- row: Progress
INSERT INTO progress ({columns})
{rows}
ON CONFLICT (job_id) DO UPDATE SET
    attempt = excluded.attempt, value = excluded.value, message = excluded.message,
    data = excluded.data, checkpoint = excluded.checkpoint, updated_at = excluded.updated_at,
    told_at = excluded.told_at

-- name: load_progress
-- Load progress reports by job.
-- row: job_id text
-- returns: Progress
SELECT {Progress} FROM progress WHERE job_id IN ({list})

-- name: drop_progress
-- Delete the progress reports of jobs.
-- changes: progress
-- row: job_id text
DELETE FROM progress WHERE job_id IN ({list})

-- name: insert_earlier
-- Store the holders of lost deliveries. After a dead-letter retry attempts are numbered anew.
-- changes: earlier_holders
-- row: Earlier
INSERT INTO earlier_holders ({columns})
{rows}
ON CONFLICT (job_id, attempt) DO UPDATE SET
    worker_id = excluded.worker_id, started_at = excluded.started_at

-- name: load_earlier
-- Load the earlier holders of a job.
-- returns: Earlier
SELECT {Earlier} FROM earlier_holders WHERE job_id = :job_id

-- name: drop_earlier
-- Delete the earlier holders of jobs.
-- changes: earlier_holders
-- row: job_id text
DELETE FROM earlier_holders WHERE job_id IN ({list})

-- name: load_numbers
-- Load the numbers of jobs.
-- row: job_id text
SELECT job_id, number FROM job_numbers WHERE job_id IN ({list})

-- name: job_numbered
-- Find the job with a number.
SELECT job_id FROM job_numbers WHERE number = :number

-- name: drop_numbers
-- Delete the numbers of jobs.
-- changes: job_numbers
-- row: job_id text
DELETE FROM job_numbers WHERE job_id IN ({list})
