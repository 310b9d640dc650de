-- name: set_paused
-- Pause or resume a queue, known or not.
-- changes: queues
INSERT INTO queues (name, paused, created_at, changed_at)
VALUES (:queue, :paused, :now, :now)
ON CONFLICT (name) DO UPDATE SET paused = excluded.paused, changed_at = excluded.changed_at

-- fragment: queue_rows
-- The configuration and the counters of queues as rows of one table.
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
-- List all queues. Counters with a slash in their name are those of tenants.
-- returns: QueueSums
SELECT {queue} FROM ({queue_rows}) AS parts WHERE strpos(name, '/') = 0
GROUP BY name ORDER BY name

-- name: queues_of_tenant
-- List the queues of a tenant, under the names of its counters.
-- returns: QueueSums
SELECT {queue} FROM ({queue_rows}) AS parts
WHERE name > :tenant || '/' AND name < :tenant || '0' GROUP BY name ORDER BY name

-- name: some_queues
-- Load queues by name.
-- row: name text
-- returns: QueueSums
SELECT {queue} FROM ({queue_rows}) AS parts WHERE name IN ({list}) GROUP BY name ORDER BY name

-- name: set_config
-- Configure a queue, known or not.
-- changes: queues
INSERT INTO queues (name, paused, created_at, changed_at, config, configured_at)
VALUES (
    :queue, false, :now, :now, :config, :now
)
ON CONFLICT (name) DO UPDATE SET
    config = excluded.config, configured_at = excluded.configured_at

-- name: queue_configs
-- Load the configured queues.
SELECT name, {json:config} FROM queues WHERE config IS NOT NULL

-- name: queue_loads
-- Count the running and waiting jobs of queues, and the bytes that wait.
-- row: queue text
-- returns: LoadedQueue
SELECT
    queue AS name, CAST(sum(active) AS int8) AS active,
    CAST(sum(available + scheduled + retryable) AS int8) AS depth,
    CAST(sum(bytes) AS int8) AS bytes,
    CAST(sum(scheduled) AS int8) AS scheduled
FROM queue_counts WHERE queue IN ({list}) GROUP BY queue

-- name: delete_queue
-- Delete the configuration of a queue.
-- changes: queues
DELETE FROM queues WHERE name = :queue

-- name: delete_counts
-- Delete the counters of a queue.
-- changes: queue_counts
DELETE FROM queue_counts WHERE queue = :queue

-- name: span_end
-- Find the last id of a range of so many jobs.
SELECT max(id) FROM (
    SELECT id FROM jobs WHERE id > :after ORDER BY id LIMIT :span
) AS span

-- name: jobs_in_span
-- Load the jobs of a queue in a range of ids, with their states and last changes.
SELECT id, state, COALESCE(finished_at, created_at) FROM jobs
WHERE id > :after AND id <= :last AND queue = :queue

-- name: count_jobs
-- Count the jobs of queues in any state.
-- row: queue text
SELECT queue, CAST(sum(
    scheduled + available + pending + active + completed + retryable + cancelled + discarded
) AS int8)
FROM queue_counts WHERE queue IN ({list}) GROUP BY queue

-- name: queue_names
-- List the names of all queues.
SELECT DISTINCT queue FROM queue_counts WHERE strpos(queue, '/') = 0 ORDER BY queue
