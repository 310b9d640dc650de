-- The demands of available jobs on their worker, and the jobs that a worker who may not run all of
-- them is given.

-- fragment: standing
-- May be handed out, the first of them.
(expires_at IS NULL OR expires_at > :now)
    AND NOT EXISTS (SELECT 1 FROM queues WHERE name = :queue AND paused)
ORDER BY priority DESC, seq LIMIT :limit
