-- name: set_paused
-- Pause or resume a queue, known or not.
-- changes: queues
INSERT INTO queues (name, paused, created_at, changed_at)
VALUES (:queue, :paused, :now, :now)
ON CONFLICT (name) DO UPDATE SET paused = excluded.paused, changed_at = excluded.changed_at

-- name: add_counts
-- Add the changes of this transaction to the counters of queues.
-- changes: queue_counts
-- row: queue text, node text, created_at int8, scheduled int8, available int8, pending int8,
--     active int8, completed int8, retryable int8, cancelled int8, discarded int8, bytes int8
INSERT INTO queue_counts AS kept ({columns})
{rows}
ON CONFLICT (queue, node) DO UPDATE SET
    {added_counts}

-- fragment: added_counts
-- Each counter and what is added to it.
scheduled = kept.scheduled + excluded.scheduled,
available = kept.available + excluded.available,
pending = kept.pending + excluded.pending, active = kept.active + excluded.active,
completed = kept.completed + excluded.completed,
retryable = kept.retryable + excluded.retryable,
cancelled = kept.cancelled + excluded.cancelled,
discarded = kept.discarded + excluded.discarded,
bytes = kept.bytes + excluded.bytes

-- fragment: queue
-- A queue that was ever used or configured, with the sums of its counters.
name, COALESCE(bool_or(paused), false) AS paused, min(created_at) AS created_at,
max(changed_at) AS changed_at,
CAST(COALESCE(sum(scheduled), 0) AS int8) AS scheduled,
CAST(COALESCE(sum(available), 0) AS int8) AS available,
CAST(COALESCE(sum(pending), 0) AS int8) AS pending,
CAST(COALESCE(sum(active), 0) AS int8) AS active,
CAST(COALESCE(sum(completed), 0) AS int8) AS completed,
CAST(COALESCE(sum(retryable), 0) AS int8) AS retryable,
CAST(COALESCE(sum(cancelled), 0) AS int8) AS cancelled,
CAST(COALESCE(sum(discarded), 0) AS int8) AS discarded,
CAST(COALESCE(sum(bytes), 0) AS int8) AS bytes,
(SELECT {json:config} FROM queues WHERE queues.name = parts.name) AS config,
(SELECT configured_at FROM queues WHERE queues.name = parts.name) AS configured_at

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
-- Find the last id of a range of `span` jobs.
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
