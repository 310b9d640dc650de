-- name: insert_new_jobs
-- Store jobs with ids that are not in use.
-- changes: jobs
-- row: StoredJob(*, job.gated)
INSERT OR ROLLBACK INTO jobs ({columns})
{rows}

-- name: known_requests
-- Return those of these ids that exist, with the hash of the request that made each.
-- row: id text
SELECT id, request_hash FROM jobs WHERE id IN ({list})

-- name: seize_jobs
-- Lock jobs, except those that another transaction has locked.
-- row: id text
-- returns: Job
SELECT {Job} FROM jobs WHERE id IN ({list}) ORDER BY id FOR UPDATE SKIP LOCKED

-- name: load_whole
-- Load jobs with arguments and results.
-- row: id text
-- returns: StoredJob
SELECT {StoredJob} FROM jobs WHERE id IN ({list})

-- fragment: taken
-- A claim of a job with a rate key may be undone: its columns are kept until its limit has allowed
-- it.
started_at = CASE WHEN rate_key IS NULL THEN :now ELSE started_at END,
due_at = CASE WHEN rate_key IS NULL THEN NULL ELSE due_at END

-- name: write_changes
-- Store transitions, each guarded by the state and the attempt before it.
-- changes: jobs
-- row: Change(
--     before.id, before.state AS old_state, before.attempt AS old_attempt, after.state, after.seq,
--     after.attempt, after.releases, after.enqueued_at, after.started_at, after.finished_at,
--     after.completed_at, after.scheduled_at, after.expires_at, after.due_at,
--     after.retry_delay_ms, after.error, after.errors, result, after.gated, ended_by
-- )
UPDATE jobs SET
    state = change.state, seq = change.seq, attempt = change.attempt,
    releases = change.releases, enqueued_at = change.enqueued_at,
    started_at = change.started_at, finished_at = change.finished_at,
    completed_at = change.completed_at, scheduled_at = change.scheduled_at,
    expires_at = change.expires_at, due_at = change.due_at,
    retry_delay_ms = change.retry_delay_ms, error = change.error, errors = change.errors,
    result = COALESCE(change.result, jobs.result), gated = change.gated,
    ended_by = change.ended_by
FROM ({rows}) AS change
WHERE jobs.id = change.id AND jobs.state = change.old_state AND jobs.attempt = change.old_attempt

-- name: delete_jobs
-- Delete jobs.
-- changes: jobs
-- row: id text
DELETE FROM jobs WHERE id IN ({list})

-- name: one_job
-- Load a whole job and its lease.
-- returns: WholeJob
SELECT {WholeJob}
FROM jobs LEFT JOIN leases ON leases.job_id = jobs.id
WHERE jobs.id = :job_id

-- name: save_priorities
-- Store new priorities of locked jobs.
-- changes: jobs
-- row: Job(id, priority)
UPDATE jobs SET priority = job.priority
FROM ({rows}) AS job WHERE jobs.id = job.id

-- name: load_states
-- Load the states of jobs.
-- row: id text
SELECT id, state FROM jobs WHERE id IN ({list})

-- name: ended_by
-- Return the worker with which a job ended.
SELECT ended_by FROM jobs WHERE id = :job_id

-- name: metas
-- Load the meta of jobs.
-- row: id text
SELECT {json:meta} FROM jobs WHERE id IN ({list})
