-- name: what_happened
-- Count the events in a range of positions by queue, minute, kind and time taken.
SELECT queue, at / 60000 * 60000 AS minute, type, {bucket} AS bucket, count(*)::int8
FROM events
WHERE pos > :upto AND pos <= :last::int8
    AND type IN ('job.enqueued', 'job.started', 'job.completed', 'job.failed')
GROUP BY queue, minute, type, bucket

-- name: what_tenants_did
-- Count the events in a range of positions by tenant, under the names of their counters, minute,
-- kind and time taken.
SELECT
    substring(convert_from(data, 'UTF8') FROM '"tenant_id":"([^"]+)"') || '/' AS tenant,
    at / 60000 * 60000 AS minute, type, {bucket} AS bucket, count(*)::int8
FROM events
WHERE pos > :upto AND pos <= :last::int8
    AND type IN ('job.enqueued', 'job.completed', 'job.failed')
GROUP BY tenant, minute, type, bucket

-- fragment: bucket
-- The number of bounds (domain/statistics.py) below the run time of a completed job, or the waiting
-- time of a started one. Not read as JSON, because PostgreSQL refuses a text with a NUL in it.
CASE WHEN type IN ('job.completed', 'job.started') THEN
    width_bucket(
        COALESCE(
            substring(
                convert_from(data, 'UTF8') FROM '"(?:duration|queue_time)_ms":([0-9]+)'
            )::int8, 0
        ) - 1,
        ARRAY[
            5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000, 1800000
        ]::int8[]
    )::int8
ELSE 0 END

-- name: sample_depths
-- The most jobs that queues held in a span, of the deepest ones and of all together.
-- changes: statistics
WITH depths AS MATERIALIZED (
    SELECT queue, sum(available)::int8 AS available, sum(active)::int8 AS active,
        sum(retryable)::int8 AS retryable
    FROM queue_counts WHERE position('/' IN queue) = 0 GROUP BY queue
), sampled AS (
    SELECT :all AS queue, sum(available)::int8 AS available, sum(active)::int8 AS active,
        sum(retryable)::int8 AS retryable
    FROM depths
    UNION ALL
    (
        SELECT queue, available, active, retryable FROM depths
        ORDER BY available + active + retryable DESC, queue LIMIT :limit
    )
)
INSERT INTO statistics AS known (step, queue, at, kind, bucket, count)
SELECT :step, queue, :at, kind, 0, COALESCE(jobs, 0)
FROM sampled CROSS JOIN LATERAL (
    VALUES ('available', available), ('active', active), ('retryable', retryable)
) AS one (kind, jobs)
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
-- Spans that are kept no longer.
-- changes: statistics
DELETE FROM statistics WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM statistics WHERE step = :step AND at < :before
    LIMIT :limit FOR UPDATE SKIP LOCKED
))
