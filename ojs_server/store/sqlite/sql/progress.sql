-- name: save_checkpoints
-- The newest checkpoint replaces the one before.
-- row: Checkpoint
INSERT OR REPLACE INTO checkpoints ({columns})
{rows}

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
INSERT OR REPLACE INTO progress ({columns})
{rows}

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
-- Deliveries that were lost.
-- row: Earlier
INSERT OR REPLACE INTO earlier_holders ({columns})
{rows}

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
