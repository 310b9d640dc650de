-- name: set_paused
-- Pause or resume, whether the queue was ever used or not.
INSERT INTO queues (name, paused, created_at, changed_at)
VALUES (:queue, :paused, :now, :now)
ON CONFLICT (name) DO UPDATE SET paused = excluded.paused, changed_at = excluded.changed_at

-- fragment: queue_rows
-- The configuration and the counters of queues, under one another.
SELECT
    name, paused, created_at, changed_at,
    CAST(NULL AS int8) AS scheduled, CAST(NULL AS int8) AS available,
    CAST(NULL AS int8) AS pending, CAST(NULL AS int8) AS active,
    CAST(NULL AS int8) AS completed, CAST(NULL AS int8) AS retryable,
    CAST(NULL AS int8) AS cancelled, CAST(NULL AS int8) AS discarded,
    CAST(NULL AS int8) AS bytes
FROM queues
UNION ALL
SELECT
    queue, NULL, created_at, NULL, scheduled, available, pending, active, completed, retryable,
    cancelled, discarded, bytes
FROM queue_counts

-- name: queues
-- Every queue; counters with a slash in their name are about tenants.
-- returns: QueueSums
SELECT {queue} FROM ({queue_rows}) AS parts WHERE strpos(name, '/') = 0
GROUP BY name ORDER BY name

-- name: queues_of_tenant
-- The queues of a tenant, under the names of its counters.
-- returns: QueueSums
SELECT {queue} FROM ({queue_rows}) AS parts
WHERE name > :tenant || '/' AND name < :tenant || '0' GROUP BY name ORDER BY name

-- name: some_queues
-- The same for these names.
-- row: name text
-- returns: QueueSums
SELECT {queue} FROM ({queue_rows}) AS parts WHERE name IN ({list}) GROUP BY name ORDER BY name

-- name: set_config
-- Configure a queue, whether it was ever used or not.
INSERT INTO queues (name, paused, created_at, changed_at, config, configured_at)
VALUES (
    :queue, false, :now, :now, :config, :now
)
ON CONFLICT (name) DO UPDATE SET
    config = excluded.config, configured_at = excluded.configured_at

-- name: queue_configs
-- The configured queues.
SELECT name, {json:config} FROM queues WHERE config IS NOT NULL

-- name: queue_loads
-- What runs in queues, what waits, and how many bytes that is.
-- row: queue text
-- returns: LoadedQueue
SELECT
    queue AS name, CAST(sum(active) AS int8) AS active,
    CAST(sum(available + scheduled + retryable) AS int8) AS depth,
    CAST(sum(bytes) AS int8) AS bytes,
    CAST(sum(scheduled) AS int8) AS scheduled
FROM queue_counts WHERE queue IN ({list}) GROUP BY queue

-- name: delete_queue
-- Forget what was set for a queue, and its counters.
DELETE FROM queues WHERE name = :queue

-- name: delete_counts
-- Forget the counters of a queue.
DELETE FROM queue_counts WHERE queue = :queue

-- name: span_end
-- Where a stretch of jobs ends, in the order of ids.
SELECT max(id) FROM (
    SELECT id FROM jobs WHERE id > :after ORDER BY id LIMIT :span
) AS span

-- name: jobs_in_span
-- The jobs of a queue in a stretch, with their states and when they were last touched.
SELECT id, state, COALESCE(finished_at, created_at) FROM jobs
WHERE id > :after AND id <= :last AND queue = :queue

-- name: count_jobs
-- All jobs of queues, whatever their state.
-- row: queue text
SELECT queue, CAST(sum(
    scheduled + available + pending + active + completed + retryable + cancelled + discarded
) AS int8)
FROM queue_counts WHERE queue IN ({list}) GROUP BY queue

-- name: queue_names
-- The names of all queues.
SELECT DISTINCT queue FROM queue_counts WHERE strpos(queue, '/') = 0 ORDER BY queue
