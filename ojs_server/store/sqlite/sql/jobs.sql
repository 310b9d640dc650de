-- fragment: job
-- A Job, in the order of its fields.
jobs.id, jobs.type, jobs.queue, jobs.state, jobs.priority, jobs.seq, jobs.attempt, jobs.releases,
jobs.max_attempts, jobs.created_at, jobs.enqueued_at, jobs.started_at, jobs.finished_at,
jobs.completed_at, jobs.scheduled_at, jobs.expires_at, jobs.due_at, jobs.lease_ms, jobs.run_ms,
jobs.retry_delay_ms, CAST(jobs.spec AS BLOB), CAST(jobs.error AS BLOB), CAST(jobs.errors AS BLOB),
jobs.workflow_id, jobs.workflow_node, jobs.trace_id, jobs.beside,
jobs.rate_key, jobs.on_limit, jobs.size, jobs.demand, jobs.tenant

-- fragment: payload
-- What a StoredJob has beyond its Job.
CAST(jobs.args AS BLOB), CAST(jobs.meta AS BLOB), jobs.request_hash, CAST(jobs.result AS BLOB),
jobs.unique_key, CAST(jobs.parent_results AS BLOB)

-- name: insert_jobs
-- New jobs, whose ids are free. Where one is not, all of the transaction is undone: then SQLite
-- keeps no journal of what this statement alone has changed.
-- row: (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,CAST(? AS TEXT),CAST(? AS TEXT),CAST(? AS TEXT),?,?,?,?,?,?,?,?,?,CAST(? AS TEXT),CAST(? AS TEXT),?,CAST(? AS TEXT),?,CAST(? AS TEXT),?)
-- columns: id, type, queue, state, priority, seq, attempt, releases, max_attempts, created_at, enqueued_at, started_at, finished_at, completed_at, scheduled_at, expires_at, due_at, lease_ms, run_ms, retry_delay_ms, spec, error, errors, workflow_id, workflow_node, trace_id, beside, rate_key, on_limit, size, demand, tenant, args, meta, request_hash, result, unique_key, parent_results, gated
INSERT OR ROLLBACK INTO jobs {rows}

-- name: known_requests
-- Which of these ids exist, and the hash of the request that made each.
-- row: ?
SELECT id, request_hash FROM jobs WHERE id IN ({rows})

-- name: load_jobs
-- Jobs with the leases on them.
-- row: ?
SELECT {job}, {lease} FROM jobs LEFT JOIN leases ON leases.job_id = jobs.id WHERE jobs.id IN ({rows})

-- name: seize_jobs
-- Jobs; there is no other transaction.
-- row: ?
SELECT {job} FROM jobs WHERE id IN ({rows})

-- name: load_whole
-- Jobs with everything.
-- row: ?
SELECT {job}, {payload} FROM jobs WHERE id IN ({rows})

-- name: find_unique
-- For each fingerprint and state the newest job, found by one look into the index.
-- row: (?,?)
SELECT {job}, jobs.unique_key FROM jobs WHERE id IN (
    SELECT (
        SELECT same.id FROM jobs AS same
        WHERE same.unique_key = wanted.column1 AND same.state = wanted.column2
        ORDER BY same.created_at DESC, same.id DESC LIMIT 1
    )
    FROM ({rows}) AS wanted
)

-- name: load_due
-- What time changes next.
SELECT {job} FROM jobs WHERE due_at <= :now ORDER BY due_at LIMIT :limit

-- fragment: taken
-- A job with a rate key is taken on trial: it keeps what it must have again if it is sent back.
started_at = CASE WHEN rate_key IS NULL THEN ? ELSE started_at END,
due_at = CASE WHEN rate_key IS NULL THEN NULL ELSE due_at END

-- name: claim
-- Hand out: each lane is one queue (or queue and type), in the order wanted.
-- row: SELECT * FROM (SELECT ? AS lane, id, priority, seq FROM jobs WHERE state = 'available' AND gated = 0 AND queue = ? AND (expires_at IS NULL OR expires_at > ?) AND NOT EXISTS (SELECT 1 FROM queues WHERE name = ? AND paused) ORDER BY priority DESC, seq LIMIT ?)
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
WHERE id IN (SELECT id FROM ({lanes}) ORDER BY lane, priority DESC, seq LIMIT ?)
RETURNING {job}, CAST(args AS BLOB), CAST(meta AS BLOB), CAST(parent_results AS BLOB)

-- name: claim_types
-- The same where the fetch names job types: a lane is one queue and one type.
-- row: SELECT * FROM (SELECT ? AS lane, id, priority, seq FROM jobs WHERE state = 'available' AND gated = 0 AND queue = ? AND type = ? AND (expires_at IS NULL OR expires_at > ?) AND NOT EXISTS (SELECT 1 FROM queues WHERE name = ? AND paused) ORDER BY priority DESC, seq LIMIT ?)
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
WHERE id IN (SELECT id FROM ({lanes}) ORDER BY lane, priority DESC, seq LIMIT ?)
RETURNING {job}, CAST(args AS BLOB), CAST(meta AS BLOB), CAST(parent_results AS BLOB)

-- name: write_changes
-- Decided transitions, each guarded by the state and attempt that it leaves (columns 2 and 3).
-- Not WITH … UPDATE: Python counts the rows only of statements that begin with UPDATE.
-- row: (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
UPDATE jobs SET
    state = change.column4, seq = change.column5, attempt = change.column6,
    releases = change.column7, enqueued_at = change.column8,
    started_at = change.column9, finished_at = change.column10,
    completed_at = change.column11, scheduled_at = change.column12,
    expires_at = change.column13, due_at = change.column14,
    retry_delay_ms = change.column15, error = CAST(change.column16 AS TEXT),
    errors = CAST(change.column17 AS TEXT),
    result = COALESCE(CAST(change.column18 AS TEXT), jobs.result), gated = change.column19,
    ended_by = change.column20
FROM ({rows}) AS change
WHERE jobs.id = change.column1 AND jobs.state = change.column2 AND jobs.attempt = change.column3

-- name: delete_jobs
-- Gone for good.
-- row: ?
DELETE FROM jobs WHERE id IN ({rows})

-- name: one_job
-- A whole job and its lease.
SELECT {job}, {payload}, {lease}
FROM jobs LEFT JOIN leases ON leases.job_id = jobs.id
WHERE jobs.id = :job_id

-- name: save_priorities
-- Other priorities for jobs.
-- row: (?,?)
UPDATE jobs SET priority = job.column2 FROM ({rows}) AS job WHERE jobs.id = job.column1

-- name: load_states
-- The states of jobs.
-- row: ?
SELECT id, state FROM jobs WHERE id IN ({rows})

-- name: ended_by
-- The worker with which a job ended.
SELECT ended_by FROM jobs WHERE id = :job_id

-- name: metas
-- The meta of jobs.
-- row: ?
SELECT CAST(meta AS BLOB) FROM jobs WHERE id IN ({rows})

-- name: next_due
-- When housekeeping has something to do, by kind.
SELECT
    (SELECT min(due_at) FROM jobs WHERE due_at IS NOT NULL),
    (SELECT min(moment) FROM (
        SELECT min(expires_at) AS moment FROM leases
        UNION ALL
        SELECT min(deadline_at) FROM leases WHERE deadline_at IS NOT NULL
    )),
    (SELECT min(alive_at) FROM workers WHERE gone_at IS NULL AND alive_at IS NOT NULL),
    (SELECT min(moment) FROM (
        SELECT min(next_run_at) AS moment FROM cron WHERE next_run_at IS NOT NULL
        UNION ALL
        SELECT 0 WHERE EXISTS (SELECT 1 FROM cron WHERE held > 0 AND {free})
    )),
    (SELECT min(opens_at) FROM limits WHERE opens_at IS NOT NULL),
    (SELECT min(dropped_at) FROM workers WHERE gone_at IS NULL AND dropped_at >= alive_at)
