-- name: what_happened
-- Count the events in a range of positions by queue, minute, kind and time taken.
WITH happened AS MATERIALIZED (
    SELECT
        queue, at / 60000 * 60000 AS minute, type,
        CASE type
        WHEN 'job.completed' THEN COALESCE(json_extract(data, '$.duration_ms'), 0)
        WHEN 'job.started' THEN COALESCE(json_extract(data, '$.queue_time_ms'), 0)
        ELSE 0 END AS ms
    FROM events
    WHERE pos > :upto AND pos <= :last
        AND type IN ('job.enqueued', 'job.started', 'job.completed', 'job.failed')
)
SELECT queue, minute, type, {bucket} AS bucket, count(*)
FROM happened GROUP BY queue, minute, type, bucket

-- name: what_tenants_did
-- Count the events in a range of positions by tenant, under the names of their counters, minute,
-- kind and time taken.
WITH happened AS MATERIALIZED (
    SELECT
        json_extract(data, '$.tenant_id') || '/' AS tenant, at / 60000 * 60000 AS minute, type,
        CASE WHEN type = 'job.completed' THEN COALESCE(json_extract(data, '$.duration_ms'), 0)
        ELSE 0 END AS ms
    FROM events
    WHERE pos > :upto AND pos <= :last
        AND type IN ('job.enqueued', 'job.completed', 'job.failed')
)
SELECT tenant, minute, type, {bucket} AS bucket, count(*)
FROM happened GROUP BY tenant, minute, type, bucket

-- fragment: bucket
-- The number of bounds (domain/statistics.py) below a run time or a waiting time.
(ms > 5) + (ms > 10) + (ms > 25) + (ms > 50) + (ms > 100) + (ms > 250) + (ms > 500)
    + (ms > 1000) + (ms > 2500) + (ms > 5000) + (ms > 10000) + (ms > 30000) + (ms > 60000)
    + (ms > 300000) + (ms > 1800000)

-- name: sample_depths
-- The most jobs that queues held in a span, of the deepest ones and of all together.
-- changes: statistics
WITH depths AS MATERIALIZED (
    SELECT queue, sum(available) AS available, sum(active) AS active, sum(retryable) AS retryable
    FROM queue_counts WHERE instr(queue, '/') = 0 GROUP BY queue
), sampled AS (
    SELECT :all AS queue, sum(available) AS available, sum(active) AS active,
        sum(retryable) AS retryable
    FROM depths
    UNION ALL
    SELECT * FROM (
        SELECT queue, available, active, retryable FROM depths
        ORDER BY available + active + retryable DESC, queue LIMIT :limit
    )
)
INSERT INTO statistics (step, queue, at, kind, bucket, count)
SELECT :step, queue, :at, 'available', 0, COALESCE(available, 0) FROM sampled WHERE true
UNION ALL SELECT :step, queue, :at, 'active', 0, COALESCE(active, 0) FROM sampled WHERE true
UNION ALL SELECT :step, queue, :at, 'retryable', 0, COALESCE(retryable, 0) FROM sampled WHERE true
ON CONFLICT (step, queue, at, kind, bucket) DO UPDATE SET count = excluded.count
    WHERE excluded.count > count

-- name: statistics
-- Load the statistics of queues, each of a range of spans.
-- row: step int8, queue text, since int8, until int8
-- returns: Count
WITH wanted AS ({rows})
SELECT known.queue, known.at, known.kind, known.bucket, known.count
FROM wanted CROSS JOIN statistics AS known ON known.step = wanted.step
    AND known.queue = wanted.queue AND known.at >= wanted.since AND known.at < wanted.until
ORDER BY known.at

-- name: prune_statistics
-- Spans that are kept no longer.
-- changes: statistics
DELETE FROM statistics WHERE rowid IN (
    SELECT rowid FROM statistics WHERE step = :step AND at < :before LIMIT :limit
)
