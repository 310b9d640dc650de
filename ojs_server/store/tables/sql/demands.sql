-- name: demands
-- What the available jobs of queues ask for: from one entry of the index to the next other one.
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
-- The first jobs of a queue that ask for nothing, as far as is looked.
SELECT id, priority, seq FROM (
    SELECT id, priority, seq, demand, expires_at FROM jobs
    WHERE state = 'available' AND gated = false AND queue = :queue
    ORDER BY priority DESC, seq LIMIT :look_ahead
) AS near
WHERE demand IS NULL AND {standing}

-- name: undemanding_of_type
-- The same of one type.
SELECT id, priority, seq FROM (
    SELECT id, priority, seq, demand, expires_at FROM jobs
    WHERE state = 'available' AND gated = false AND queue = :queue AND type = :type
    ORDER BY priority DESC, seq LIMIT :look_ahead
) AS near
WHERE demand IS NULL AND {standing}

-- name: demanding
-- The first jobs of a queue that ask for one thing.
SELECT id, priority, seq FROM jobs
WHERE state = 'available' AND gated = false AND queue = :queue AND demand = :demand
    AND {standing}
