-- fragment: oldest
-- The priorities that available jobs of a queue have.
WITH RECURSIVE steps (priority) AS (
    SELECT max(priority) FROM jobs WHERE state = 'available' AND gated = 0 AND queue = :queue
    UNION ALL
    SELECT (
        SELECT max(lower.priority) FROM jobs AS lower
        WHERE lower.state = 'available' AND lower.gated = 0 AND lower.queue = :queue
            AND lower.priority < steps.priority
    )
    FROM steps WHERE steps.priority IS NOT NULL
)

-- fragment: oldest_ids
-- Of each priority the first, and the first that are gated.
    SELECT id FROM (
        SELECT first.id, first.seq FROM steps JOIN jobs AS first ON first.id IN (
            SELECT same.id FROM jobs AS same
            WHERE same.state = 'available' AND same.gated = 0 AND same.queue = :queue
                AND same.priority = steps.priority
            ORDER BY same.seq LIMIT :limit
        )
        UNION ALL
        SELECT id, seq FROM (
            SELECT id, seq FROM jobs WHERE state = 'available' AND gated = 1 AND queue = :queue
            ORDER BY seq LIMIT :limit
        )
    )
    ORDER BY seq LIMIT :limit

-- name: oldest_waiting
-- The jobs that were available first: of each priority the first, and the first that are gated.
-- returns: Job
{oldest}
SELECT {Job} FROM jobs WHERE id IN (
{oldest_ids}
)

-- name: oldest_available
-- Return since when the oldest available job of each queue has been available: one of the first of
-- each priority, or the first gated one.
-- row: queue text
WITH RECURSIVE wanted AS MATERIALIZED ({rows}), steps (queue, priority) AS (
    SELECT wanted.queue, (
        SELECT max(same.priority) FROM jobs AS same
        WHERE same.state = 'available' AND same.gated = 0 AND same.queue = wanted.queue
    )
    FROM wanted
    UNION ALL
    SELECT steps.queue, (
        SELECT max(lower.priority) FROM jobs AS lower
        WHERE lower.state = 'available' AND lower.gated = 0 AND lower.queue = steps.queue
            AND lower.priority < steps.priority
    )
    FROM steps WHERE steps.priority IS NOT NULL
), heads (queue, id) AS MATERIALIZED (
    SELECT steps.queue, (
        SELECT same.id FROM jobs AS same
        WHERE same.state = 'available' AND same.gated = 0 AND same.queue = steps.queue
            AND same.priority = steps.priority
        ORDER BY same.seq LIMIT 1
    )
    FROM steps WHERE steps.priority IS NOT NULL
    UNION ALL
    SELECT wanted.queue, (
        SELECT same.id FROM jobs AS same
        WHERE same.state = 'available' AND same.gated = 1 AND same.queue = wanted.queue
        ORDER BY same.seq LIMIT 1
    )
    FROM wanted
)
SELECT heads.queue, min(COALESCE(jobs.enqueued_at, jobs.created_at))
FROM heads CROSS JOIN jobs ON jobs.id = heads.id GROUP BY heads.queue

-- name: priorities
-- Count the available jobs of each priority, up to a limit.
{oldest}
SELECT priority, (
    SELECT count(*) FROM (
        SELECT 1 FROM jobs AS same
        WHERE same.state = 'available' AND same.gated = 0 AND same.queue = :queue
            AND same.priority = steps.priority
        LIMIT :limit
    )
)
FROM steps WHERE priority IS NOT NULL
