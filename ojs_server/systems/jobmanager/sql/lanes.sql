-- fragment: in_time
-- The first job that has not expired.
(jobs.expires_at IS NULL OR jobs.expires_at > :now)
    ORDER BY jobs.priority DESC, jobs.seq LIMIT 1
