-- fragment: waits_for_time
-- A job that time makes available. In the words of the index, or it would not be used.
(state = 'scheduled' OR state = 'retryable')

-- name: is_due_in
-- Return a row if a scheduled job or a retry of a queue is due.
SELECT 1 FROM jobs WHERE queue = :queue AND {waits_for_time} AND due_at <= :now LIMIT 1

-- name: load_due_in
-- The scheduled jobs and retries of a queue that are due and have not expired, earliest first.
-- returns: Job
SELECT {Job} FROM jobs
WHERE queue = :queue AND {waits_for_time} AND due_at <= :now
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY due_at LIMIT :limit
