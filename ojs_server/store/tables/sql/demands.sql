-- name: demands
-- List the distinct demands of the available jobs of queues. Each step enters the index at the next
-- other demand.
-- row: queue text
WITH RECURSIVE steps (queue, demand) AS (
    SELECT wanted.queue, (
        SELECT min(first.demand) FROM jobs AS first
        WHERE first.state = 'available' AND first.gated = false AND first.queue = wanted.queue
            AND first.demand IS NOT NULL
    )
    FROM ({rows}) AS wanted
    UNION ALL
    SELECT steps.queue, (
        SELECT min(next.demand) FROM jobs AS next
        WHERE next.state = 'available' AND next.gated = false AND next.queue = steps.queue
            AND next.demand > steps.demand
    )
    FROM steps WHERE steps.demand IS NOT NULL
)
SELECT queue, demand FROM steps WHERE demand IS NOT NULL LIMIT 1000

-- name: undemanding
-- Find the first jobs of a queue without a demand, among the first available ones.
SELECT id, priority, seq FROM (
    SELECT id, priority, seq, demand, expires_at FROM jobs
    WHERE state = 'available' AND gated = false AND queue = :queue
    ORDER BY priority DESC, seq LIMIT :look_ahead
) AS near
WHERE demand IS NULL AND {standing}

-- name: undemanding_of_type
-- Find the first jobs of a queue and a job type without a demand, among the first available ones.
SELECT id, priority, seq FROM (
    SELECT id, priority, seq, demand, expires_at FROM jobs
    WHERE state = 'available' AND gated = false AND queue = :queue AND type = :type
    ORDER BY priority DESC, seq LIMIT :look_ahead
) AS near
WHERE demand IS NULL AND {standing}

-- name: demanding
-- Find the first jobs of a queue with one demand.
SELECT id, priority, seq FROM jobs
WHERE state = 'available' AND gated = false AND queue = :queue AND demand = :demand
    AND {standing}

-- fragment: standing
-- The first jobs that may be handed out: not expired, and of a queue that is not paused.
(expires_at IS NULL OR expires_at > :now)
    AND NOT EXISTS (SELECT 1 FROM queues WHERE name = :queue AND paused)
ORDER BY priority DESC, seq LIMIT :limit
