-- The demands of available jobs on their worker, and the jobs that a worker who may not run all of
-- them is given.

-- fragment: standing
-- May be handed out, the first of them.
(expires_at IS NULL OR expires_at > :now)
    AND NOT (SELECT COALESCE(bool_or(paused), false) FROM queues WHERE name = :queue)
ORDER BY priority DESC, seq LIMIT :limit
