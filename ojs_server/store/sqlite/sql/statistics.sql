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
