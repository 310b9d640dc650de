-- What available jobs ask of their worker, and the jobs that a worker who may not run all of
-- them is given.

-- name: demands
-- What the available jobs of queues ask for: from one entry of the index to the next other one.
-- row: queue text
WITH RECURSIVE steps (queue, demand) AS (
    SELECT wanted.queue, (
        SELECT min(first.demand) FROM jobs AS first
        WHERE first.state = 'available' AND NOT first.gated AND first.queue = wanted.queue
            AND first.demand IS NOT NULL
    )
    FROM ({rows}) AS wanted
    UNION ALL
    SELECT steps.queue, (
        SELECT min(next.demand) FROM jobs AS next
        WHERE next.state = 'available' AND NOT next.gated AND next.queue = steps.queue
            AND next.demand > steps.demand
    )
    FROM steps WHERE steps.demand IS NOT NULL
)
SELECT queue, demand FROM steps WHERE demand IS NOT NULL LIMIT 1000

-- fragment: standing
-- May be handed out, the first of them.
(expires_at IS NULL OR expires_at > %(now)s::int8)
    AND NOT (SELECT COALESCE(bool_or(paused), false) FROM queues WHERE name = %(queue)s::text)
ORDER BY priority DESC, seq LIMIT %(limit)s::int8

-- name: undemanding
-- The first jobs of a queue that ask for nothing, as far as is looked.
SELECT id, priority, seq FROM (
    SELECT id, priority, seq, demand, expires_at FROM jobs
    WHERE state = 'available' AND NOT gated AND queue = %(queue)s::text
    ORDER BY priority DESC, seq LIMIT %(look_ahead)s::int8
) AS near
WHERE demand IS NULL AND {standing}

-- name: undemanding_of_type
-- The same of one type.
SELECT id, priority, seq FROM (
    SELECT id, priority, seq, demand, expires_at FROM jobs
    WHERE state = 'available' AND NOT gated AND queue = %(queue)s::text AND type = %(type)s::text
    ORDER BY priority DESC, seq LIMIT %(look_ahead)s::int8
) AS near
WHERE demand IS NULL AND {standing}

-- name: demanding
-- The first jobs of a queue that ask for one thing.
SELECT id, priority, seq FROM jobs
WHERE state = 'available' AND NOT gated AND queue = %(queue)s::text AND demand = %(demand)s::text
    AND {standing}
