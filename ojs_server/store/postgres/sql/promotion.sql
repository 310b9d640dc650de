-- fragment: waits_for_time
-- A job that time makes available.
-- differs: in the words of the index, which SQLite has without a list.
state IN ('scheduled', 'retryable')

-- name: next_due_in
-- Return when the first scheduled job or retry of each queue is due.
-- row: queue text
SELECT wanted.queue, (
    SELECT due_at FROM jobs
    WHERE queue = wanted.queue AND {waits_for_time} ORDER BY due_at LIMIT 1
)
FROM (SELECT DISTINCT * FROM ({rows}) AS named) AS wanted

-- name: load_due_in
-- Lock the scheduled jobs and retries of queues that are due and have not expired, some of each
-- queue, earliest first, without those that another node is busy with.
-- differs: it reads all queues in one round trip, by a lateral join.
-- returns: Job
SELECT {Job}
FROM unnest(:queues) AS wanted (queue)
CROSS JOIN LATERAL (
    SELECT * FROM jobs
    WHERE queue = wanted.queue AND {waits_for_time} AND due_at <= :now
        AND (expires_at IS NULL OR expires_at > :now)
    ORDER BY due_at LIMIT :limit
    FOR UPDATE SKIP LOCKED
) AS jobs
