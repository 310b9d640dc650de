-- fragment: waits_for_time
-- A job that time makes available. In the words of the index, or it would not be used.
(state = 'scheduled' OR state = 'retryable')

-- name: next_due_in
-- When the first scheduled job or retry of each of these queues is due.
-- row: (?)
SELECT wanted.column1, (
    SELECT due_at FROM jobs
    WHERE queue = wanted.column1 AND {waits_for_time} ORDER BY due_at LIMIT 1
)
FROM ({rows}) AS wanted

-- name: load_due_in
-- The scheduled jobs and retries of a queue that are due and have not expired, earliest first.
SELECT {job} FROM jobs
WHERE queue = :queue AND {waits_for_time} AND due_at <= :now
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY due_at LIMIT :limit
