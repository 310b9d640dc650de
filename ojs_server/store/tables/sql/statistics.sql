-- name: add_statistics
-- Add counts to the statistics of time spans.
-- changes: statistics
-- row: step int8, queue text, at int8, kind text, bucket int8, count int8
INSERT INTO statistics AS known ({columns})
{rows}
ON CONFLICT (step, queue, at, kind, bucket) DO UPDATE SET count = known.count + excluded.count

-- name: sample_depths
-- Store the highest numbers of jobs in a span, of the deepest queues and of all queues together.
-- changes: statistics
WITH depths AS MATERIALIZED (
    SELECT
        queue, CAST(sum(available) AS int8) AS available, CAST(sum(active) AS int8) AS active,
        CAST(sum(retryable) AS int8) AS retryable
    FROM queue_counts WHERE strpos(queue, '/') = 0 GROUP BY queue
), sampled AS MATERIALIZED (
    SELECT
        :all AS queue, CAST(sum(available) AS int8) AS available,
        CAST(sum(active) AS int8) AS active, CAST(sum(retryable) AS int8) AS retryable
    FROM depths
    UNION ALL
    SELECT * FROM (
        SELECT queue, available, active, retryable FROM depths
        ORDER BY available + active + retryable DESC, queue LIMIT :limit
    ) AS deepest
)
INSERT INTO statistics AS known (step, queue, at, kind, bucket, count)
SELECT :step, queue, :at, 'available', 0, COALESCE(available, 0) FROM sampled WHERE true
UNION ALL SELECT :step, queue, :at, 'active', 0, COALESCE(active, 0) FROM sampled WHERE true
UNION ALL SELECT :step, queue, :at, 'retryable', 0, COALESCE(retryable, 0) FROM sampled WHERE true
ON CONFLICT (step, queue, at, kind, bucket) DO UPDATE SET count = excluded.count
    WHERE excluded.count > known.count

-- name: statistics
-- Load the statistics of queues, each of a range of spans.
-- row: step int8, queue text, since int8, until int8
-- returns: Count
SELECT known.queue, known.at, known.kind, known.bucket, known.count
FROM ({rows}) AS wanted
JOIN statistics AS known ON known.step = wanted.step
    AND known.queue = wanted.queue AND known.at >= wanted.since AND known.at < wanted.until
ORDER BY known.at

-- name: prune_statistics
-- Remove the statistics of spans from before a moment.
-- changes: statistics
DELETE FROM statistics WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM statistics WHERE step = :step AND at < :before
    LIMIT :limit FOR UPDATE SKIP LOCKED
))
