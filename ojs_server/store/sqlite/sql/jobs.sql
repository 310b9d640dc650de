-- name: insert_jobs
-- New jobs, whose ids are free. Where one is not, all of the transaction is undone: then SQLite
-- keeps no journal of what this statement alone has changed.
-- row: StoredJob(*, job.gated)
INSERT OR ROLLBACK INTO jobs ({columns})
{rows}

-- name: known_requests
-- Which of these ids exist, and the hash of the request that made each.
-- row: id text
SELECT id, request_hash FROM jobs WHERE id IN ({list})

-- name: load_jobs
-- Jobs with the leases on them.
-- row: id text
-- returns: Leased
SELECT {Leased} FROM jobs LEFT JOIN leases ON leases.job_id = jobs.id WHERE jobs.id IN ({list})

-- name: seize_jobs
-- Jobs; there is no other transaction.
-- row: id text
-- returns: Job
SELECT {Job} FROM jobs WHERE id IN ({list})

-- name: load_whole
-- Jobs with everything.
-- row: id text
-- returns: StoredJob
SELECT {StoredJob} FROM jobs WHERE id IN ({list})

-- name: find_unique
-- For each fingerprint and state the newest job, found by one look into the index.
-- row: unique_key bytea, state text
-- returns: Keyed
SELECT {Keyed} FROM jobs WHERE id IN (
    SELECT (
        SELECT same.id FROM jobs AS same
        WHERE same.unique_key = wanted.unique_key AND same.state = wanted.state
        ORDER BY same.created_at DESC, same.id DESC LIMIT 1
    )
    FROM ({rows}) AS wanted
)

-- name: load_due
-- What time changes next.
-- returns: Job
SELECT {Job} FROM jobs WHERE due_at <= :now ORDER BY due_at LIMIT :limit

-- fragment: taken
-- A job with a rate key is taken on trial: it keeps what it must have again if it is sent back.
started_at = CASE WHEN rate_key IS NULL THEN :now ELSE started_at END,
due_at = CASE WHEN rate_key IS NULL THEN NULL ELSE due_at END

-- name: claim
-- Hand out: each lane is one queue (or queue and type), in the order wanted.
-- lane: SELECT * FROM (
--     SELECT {lane} AS lane, id, priority, seq FROM jobs
--     WHERE state = 'available' AND gated = 0 AND queue = :queue{lane}
--         AND (expires_at IS NULL OR expires_at > :now)
--         AND NOT EXISTS (SELECT 1 FROM queues WHERE name = :queue{lane} AND paused)
--     ORDER BY priority DESC, seq LIMIT :limit
-- )
-- returns: Claimed
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
WHERE id IN (SELECT id FROM ({lanes}) ORDER BY lane, priority DESC, seq LIMIT :limit)
RETURNING {Claimed}

-- name: claim_types
-- The same where the fetch names job types: a lane is one queue and one type.
-- lane: SELECT * FROM (
--     SELECT {lane} AS lane, id, priority, seq FROM jobs
--     WHERE state = 'available' AND gated = 0 AND queue = :queue{lane} AND type = :type{n}
--         AND (expires_at IS NULL OR expires_at > :now)
--         AND NOT EXISTS (SELECT 1 FROM queues WHERE name = :queue{lane} AND paused)
--     ORDER BY priority DESC, seq LIMIT :limit
-- )
-- returns: Claimed
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
WHERE id IN (SELECT id FROM ({lanes}) ORDER BY lane, priority DESC, seq LIMIT :limit)
RETURNING {Claimed}

-- name: write_changes
-- Decided transitions, each guarded by the state and attempt that it leaves (columns 2 and 3).
-- Not WITH … UPDATE: Python counts the rows only of statements that begin with UPDATE.
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
    retry_delay_ms = change.retry_delay_ms, error = change.error,
    errors = change.errors,
    result = COALESCE(change.result, jobs.result), gated = change.gated,
    ended_by = change.ended_by
FROM ({rows}) AS change
WHERE jobs.id = change.id AND jobs.state = change.old_state AND jobs.attempt = change.old_attempt

-- name: delete_jobs
-- Gone for good.
-- row: id text
DELETE FROM jobs WHERE id IN ({list})

-- name: one_job
-- A whole job and its lease.
-- returns: WholeJob
SELECT {WholeJob}
FROM jobs LEFT JOIN leases ON leases.job_id = jobs.id
WHERE jobs.id = :job_id

-- name: save_priorities
-- Other priorities for jobs.
-- row: Job(id, priority)
UPDATE jobs SET priority = job.priority FROM ({rows}) AS job WHERE jobs.id = job.id

-- name: load_states
-- The states of jobs.
-- row: id text
SELECT id, state FROM jobs WHERE id IN ({list})

-- name: ended_by
-- The worker with which a job ended.
SELECT ended_by FROM jobs WHERE id = :job_id

-- name: metas
-- The meta of jobs.
-- row: id text
SELECT CAST(meta AS BLOB) FROM jobs WHERE id IN ({list})

-- name: next_due
-- When housekeeping has something to do, by kind.
-- returns: DueTimes
SELECT
    (SELECT min(due_at) FROM jobs WHERE due_at IS NOT NULL) AS job,
    (SELECT min(moment) FROM (
        SELECT min(expires_at) AS moment FROM leases
        UNION ALL
        SELECT min(deadline_at) FROM leases WHERE deadline_at IS NOT NULL
    )) AS lease,
    (SELECT min(alive_at) FROM workers WHERE gone_at IS NULL AND alive_at IS NOT NULL) AS worker,
    (SELECT min(moment) FROM (
        SELECT min(next_run_at) AS moment FROM cron WHERE next_run_at IS NOT NULL
        UNION ALL
        SELECT 0 WHERE EXISTS (SELECT 1 FROM cron WHERE held > 0 AND {free})
    )) AS cron,
    (SELECT min(opens_at) FROM limits WHERE opens_at IS NOT NULL) AS "limit",
    (SELECT min(dropped_at) FROM workers WHERE gone_at IS NULL AND dropped_at >= alive_at) AS dropped
