-- fragment: job
-- A Job, in the order of its fields.
jobs.id, jobs.type, jobs.queue, jobs.state, jobs.priority, jobs.seq, jobs.attempt, jobs.releases,
jobs.max_attempts, jobs.created_at, jobs.enqueued_at, jobs.started_at, jobs.finished_at,
jobs.completed_at, jobs.scheduled_at, jobs.expires_at, jobs.due_at, jobs.lease_ms, jobs.run_ms,
jobs.retry_delay_ms, jobs.spec, jobs.error, jobs.errors, jobs.workflow_id, jobs.workflow_node,
jobs.trace_id, jobs.beside, jobs.rate_key, jobs.on_limit, jobs.size, jobs.demand,
jobs.tenant

-- fragment: payload
-- What a StoredJob has beyond its Job.
jobs.args, jobs.meta, jobs.request_hash, jobs.result, jobs.unique_key, jobs.parent_results

-- fragment: insert_rows
-- Into the columns of a Job, of its payload, and its gate.
INSERT INTO jobs (
    id, type, queue, state, priority, seq, attempt, releases, max_attempts, created_at,
    enqueued_at, started_at, finished_at, completed_at, scheduled_at, expires_at, due_at,
    lease_ms, run_ms, retry_delay_ms, spec, error, errors, workflow_id, workflow_node, trace_id,
    beside, rate_key, on_limit, size, demand, tenant,
    args, meta, request_hash, result, unique_key, parent_results, gated
)
SELECT * FROM unnest({rows})

-- name: insert_jobs
-- New jobs; an id that exists is left alone and not answered.
-- row: text, text, text, text, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, bytea, bytea, bytea, text, int8, text, int8, text, text, int8, text, text, bytea, bytea, bytea, bytea, bytea, bytea, bool
{insert_rows} ON CONFLICT (id) DO NOTHING RETURNING id

-- name: insert_new_jobs
-- Jobs with ids that were just made.
-- row: text, text, text, text, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, bytea, bytea, bytea, text, int8, text, int8, text, text, int8, text, text, bytea, bytea, bytea, bytea, bytea, bytea, bool
{insert_rows}

-- name: known_requests
-- Which of these ids exist, and the hash of the request that made each.
-- row: text
SELECT id, request_hash FROM jobs WHERE id = ANY ({rows})

-- name: load_jobs
-- Lock jobs. Their leases are read after that, by another statement: this one would show them
-- as they were before it waited for a lock.
-- row: text
SELECT {job} FROM jobs WHERE id = ANY ({rows}) ORDER BY id FOR UPDATE

-- name: seize_jobs
-- Lock jobs, without those that another transaction has.
-- row: text
SELECT {job} FROM jobs WHERE id = ANY ({rows}) ORDER BY id FOR UPDATE SKIP LOCKED

-- name: load_whole
-- Jobs with everything.
-- row: text
SELECT {job}, {payload} FROM jobs WHERE id = ANY ({rows})

-- name: lock_unique
-- Whoever comes second waits here for the end of the first transaction, although that one takes
-- its rows away again at once: to others they are neither there nor gone before it has ended.
-- row: bytea
INSERT INTO unique_locks (unique_key) SELECT * FROM unnest({rows})

-- name: unlock_unique
-- So that nothing is left of a lock but its wait.
-- row: bytea
DELETE FROM unique_locks WHERE unique_key = ANY ({rows})

-- name: find_unique
-- For each fingerprint and state the newest job, found by one look into the index.
-- row: bytea, text
SELECT {job}, jobs.unique_key
FROM unnest({rows}) AS wanted (unique_key, state)
CROSS JOIN LATERAL (
    SELECT * FROM jobs
    WHERE unique_key = wanted.unique_key AND state = wanted.state
    ORDER BY created_at DESC, id DESC LIMIT 1
) AS jobs

-- name: load_due
-- What time changes next, without what another node is busy with.
SELECT {job} FROM jobs WHERE due_at <= %(now)s::int8 ORDER BY due_at LIMIT %(limit)s::int8
FOR UPDATE SKIP LOCKED

-- fragment: taken
-- A job with a rate key is taken on trial: it keeps what it must have again if it is sent back.
started_at = CASE WHEN rate_key IS NULL THEN %(now)s::int8 ELSE started_at END,
due_at = CASE WHEN rate_key IS NULL THEN NULL ELSE due_at END

-- name: claim
-- Hand out: the queues in the order wanted, each read in the order of its index and no further
-- than the limit, so that no job is locked that is not taken. `{most}` stands for a number that is
-- not less than the limit: a plan that is kept is for any limit, and would expect a tenth of all.
WITH picked AS MATERIALIZED (
    SELECT job.id, wanted.lane
    FROM unnest(%(queues)s::text[]) WITH ORDINALITY AS wanted (queue, lane)
    CROSS JOIN LATERAL (
        SELECT id FROM (
            SELECT id FROM jobs
            WHERE state = 'available' AND NOT gated AND queue = wanted.queue
                AND (expires_at IS NULL OR expires_at > %(now)s::int8)
                AND NOT (
                    SELECT COALESCE(bool_or(paused), false) FROM queues WHERE name = wanted.queue
                )
            ORDER BY priority DESC, seq
            LIMIT {most} FOR UPDATE SKIP LOCKED
        ) AS first
        LIMIT %(limit)s::int8
    ) AS job
    ORDER BY wanted.lane
    LIMIT %(limit)s::int8
)
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
FROM picked WHERE jobs.id = picked.id
RETURNING {job}, jobs.args, jobs.meta, jobs.parent_results, picked.lane

-- name: claim_types
-- The same where the fetch names job types: a queue's types are merged in the queue's order. Each
-- that is found is looked at once more, by its id: the state in a form that no other index fits. The
-- order is that of the jobs before they are locked, so that none is locked to be sorted away. This
-- is best planned for what is asked: a plan for any types reads a queue to its end for a rare one.
-- row: (SELECT id, priority, seq FROM jobs WHERE state = 'available' AND NOT gated AND queue = wanted.queue AND type = (%(types)s::text[])[{n}] ORDER BY priority DESC, seq)
WITH picked AS MATERIALIZED (
    SELECT job.id, wanted.lane
    FROM unnest(%(queues)s::text[]) WITH ORDINALITY AS wanted (queue, lane)
    CROSS JOIN LATERAL (
        SELECT found.id FROM (
            SELECT id FROM ({lanes}) AS lane ORDER BY priority DESC, seq
        ) AS next
        CROSS JOIN LATERAL (
            SELECT id FROM jobs
            WHERE id = next.id AND state || '' = 'available' AND NOT gated
                AND (expires_at IS NULL OR expires_at > %(now)s::int8)
            FOR UPDATE SKIP LOCKED
        ) AS found
        WHERE NOT (SELECT COALESCE(bool_or(paused), false) FROM queues WHERE name = wanted.queue)
        LIMIT %(limit)s::int8
    ) AS job
    ORDER BY wanted.lane
    LIMIT %(limit)s::int8
)
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
FROM picked WHERE jobs.id = picked.id
RETURNING {job}, jobs.args, jobs.meta, jobs.parent_results, picked.lane

-- name: write_changes
-- Decided transitions, each guarded by the state and attempt that it leaves.
-- row: text, text, int8, text, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, int8, bytea, bytea, bytea, bool, text
UPDATE jobs SET
    state = change.state, seq = change.seq, attempt = change.attempt,
    releases = change.releases, enqueued_at = change.enqueued_at,
    started_at = change.started_at, finished_at = change.finished_at,
    completed_at = change.completed_at, scheduled_at = change.scheduled_at,
    expires_at = change.expires_at, due_at = change.due_at,
    retry_delay_ms = change.retry_delay_ms, error = change.error, errors = change.errors,
    result = COALESCE(change.result, jobs.result), gated = change.gated,
    ended_by = change.ended_by
FROM unnest({rows}) AS change (
    id, old_state, old_attempt, state, seq, attempt, releases, enqueued_at, started_at,
    finished_at, completed_at, scheduled_at, expires_at, due_at, retry_delay_ms, error, errors,
    result, gated, ended_by
)
WHERE jobs.id = change.id AND jobs.state = change.old_state AND jobs.attempt = change.old_attempt

-- name: delete_jobs
-- Gone for good.
-- row: text
DELETE FROM jobs WHERE id = ANY ({rows})

-- name: one_job
-- A whole job and its lease.
SELECT {job}, {payload}, {lease}
FROM jobs LEFT JOIN leases ON leases.job_id = jobs.id
WHERE jobs.id = %(job_id)s::text

-- name: save_priorities
-- Other priorities for locked jobs.
-- row: text, int8
UPDATE jobs SET priority = job.priority
FROM unnest({rows}) AS job (id, priority) WHERE jobs.id = job.id

-- name: load_states
-- The states of jobs.
-- row: text
SELECT id, state FROM jobs WHERE id = ANY ({rows})

-- name: ended_by
-- The worker with which a job ended.
SELECT ended_by FROM jobs WHERE id = %(job_id)s::text

-- name: metas
-- The meta of jobs.
-- row: text
SELECT meta FROM jobs WHERE id = ANY ({rows})

-- name: next_due
-- When housekeeping has something to do, by kind.
SELECT
    (SELECT min(due_at) FROM jobs WHERE due_at IS NOT NULL),
    least(
        (SELECT min(expires_at) FROM leases),
        (SELECT min(deadline_at) FROM leases WHERE deadline_at IS NOT NULL)
    ),
    (SELECT min(alive_at) FROM workers WHERE gone_at IS NULL),
    least(
        (SELECT min(next_run_at) FROM cron WHERE next_run_at IS NOT NULL),
        (SELECT 0::int8 WHERE EXISTS (SELECT FROM cron WHERE held > 0 AND {free}))
    ),
    (SELECT min(opens_at) FROM limits WHERE opens_at IS NOT NULL),
    (SELECT min(dropped_at) FROM workers WHERE gone_at IS NULL AND dropped_at >= alive_at)

-- name: lock_jobs
-- Only lock, for a batch that will come back to them.
-- row: text
SELECT 1 FROM jobs WHERE id = ANY ({rows}) ORDER BY id FOR UPDATE
