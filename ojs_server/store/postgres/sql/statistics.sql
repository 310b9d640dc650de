-- differs: JSON is searched as text, since PostgreSQL does not read one with a NUL in it.

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
-- time of a started one.
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
