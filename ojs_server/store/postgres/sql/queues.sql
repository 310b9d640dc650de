-- name: fold_rows
-- Add rows of a node that have another name than the node to those with its name.
-- changes: queue_counts
-- row: queue text
WITH taken AS (
    DELETE FROM queue_counts WHERE queue IN ({list}) AND node = :name
    RETURNING queue_counts.*
)
{added_rows}

-- fragment: added_rows
-- Add the rows of `taken` to those of a node.
INSERT INTO queue_counts AS kept (
    queue, node, created_at, scheduled, available, pending, active, completed, retryable,
    cancelled, discarded, bytes
)
SELECT
    queue, :node, min(created_at), sum(scheduled), sum(available), sum(pending), sum(active),
    sum(completed), sum(retryable), sum(cancelled), sum(discarded), sum(bytes)
FROM taken GROUP BY queue ORDER BY queue
ON CONFLICT (queue, node) DO UPDATE SET
    created_at = least(kept.created_at, excluded.created_at), {added_counts}

-- name: lock_configs
-- Be the only one who changes what every node knows.
SELECT FROM settings WHERE name = 'queue_configs' FOR UPDATE

-- name: bump_configs
-- Let every node read the configuration of queues again with its next transaction.
-- changes: settings
UPDATE settings SET value = value + 1 WHERE name = 'queue_configs'

-- fragment: steps
-- The priorities that available jobs of a queue have.
WITH RECURSIVE steps (priority) AS (
    (
        SELECT priority FROM jobs
        WHERE state = 'available' AND NOT gated AND queue = :queue
        ORDER BY priority DESC LIMIT 1
    )
    UNION ALL
    SELECT lower.priority FROM steps CROSS JOIN LATERAL (
        SELECT priority FROM jobs
        WHERE state = 'available' AND NOT gated AND queue = :queue
            AND priority < steps.priority
        ORDER BY priority DESC LIMIT 1
    ) AS lower
)

-- fragment: oldest
-- The jobs that have been available for the longest: the first of each priority, and the first
-- gated one.
-- differs: SQLite has no lateral joins.
{steps}, first AS MATERIALIZED (
    SELECT of_step.id, of_step.seq FROM steps CROSS JOIN LATERAL (
        SELECT id, seq FROM jobs
        WHERE state = 'available' AND NOT gated AND queue = :queue
            AND priority = steps.priority
        ORDER BY seq LIMIT :limit
    ) AS of_step
    UNION ALL
    (
        SELECT id, seq FROM jobs
        WHERE state = 'available' AND gated AND queue = :queue
        ORDER BY seq LIMIT :limit
    )
), oldest AS MATERIALIZED (
    SELECT id FROM first ORDER BY seq LIMIT :limit
)

-- name: oldest_waiting
-- Lock the jobs that were available first: of each priority the first, and the first that are
-- gated. What another node is busy with is passed over; it is about to leave anyhow.
-- differs: SQLite has no lateral joins.
-- returns: Job
{oldest}
SELECT {Job} FROM jobs
WHERE id = ANY (ARRAY(SELECT id FROM oldest)) AND state = 'available'
ORDER BY id FOR UPDATE SKIP LOCKED

-- name: oldest_available
-- Return since when the oldest available job of each queue has been available: one of the first of
-- each priority, or the first gated one.
-- differs: SQLite has no lateral joins.
-- row: queue text
WITH RECURSIVE wanted AS MATERIALIZED ({rows}), steps (queue, priority) AS (
    SELECT wanted.queue, highest.priority FROM wanted CROSS JOIN LATERAL (
        SELECT priority FROM jobs
        WHERE state = 'available' AND NOT gated AND queue = wanted.queue
        ORDER BY priority DESC LIMIT 1
    ) AS highest
    UNION ALL
    SELECT steps.queue, lower.priority FROM steps CROSS JOIN LATERAL (
        SELECT priority FROM jobs
        WHERE state = 'available' AND NOT gated AND queue = steps.queue
            AND priority < steps.priority
        ORDER BY priority DESC LIMIT 1
    ) AS lower
), heads AS MATERIALIZED (
    SELECT steps.queue, of_step.since FROM steps CROSS JOIN LATERAL (
        SELECT COALESCE(enqueued_at, created_at) AS since FROM jobs
        WHERE state = 'available' AND NOT gated AND queue = steps.queue
            AND priority = steps.priority
        ORDER BY seq LIMIT 1
    ) AS of_step
    UNION ALL
    SELECT wanted.queue, of_queue.since FROM wanted CROSS JOIN LATERAL (
        SELECT COALESCE(enqueued_at, created_at) AS since FROM jobs
        WHERE state = 'available' AND gated AND queue = wanted.queue
        ORDER BY seq LIMIT 1
    ) AS of_queue
)
SELECT queue, min(since) FROM heads GROUP BY queue

-- name: priorities
-- Count the available jobs of each priority, up to a limit.
-- differs: SQLite has no lateral joins.
{steps}
SELECT priority, (
    SELECT count(*) FROM (
        SELECT FROM jobs
        WHERE state = 'available' AND NOT gated AND queue = :queue
            AND priority = steps.priority
        LIMIT :limit
    ) AS counted
)
FROM steps
