-- name: set_paused
-- Pause or resume, whether the queue was ever used or not.
INSERT INTO queues (name, paused, created_at, changed_at) VALUES (:queue, :paused, :now, :now)
ON CONFLICT (name) DO UPDATE SET paused = excluded.paused, changed_at = excluded.changed_at

-- name: add_counts
-- Move the counters of queues by what this transaction did.
-- row: queue text, node text, created_at int8, scheduled int8, available int8, pending int8,
--     active int8, completed int8, retryable int8, cancelled int8, discarded int8, bytes int8
INSERT INTO queue_counts ({columns})
{rows}
ON CONFLICT (queue, node) DO UPDATE SET
    scheduled = scheduled + excluded.scheduled, available = available + excluded.available,
    pending = pending + excluded.pending, active = active + excluded.active,
    completed = completed + excluded.completed, retryable = retryable + excluded.retryable,
    cancelled = cancelled + excluded.cancelled, discarded = discarded + excluded.discarded,
    bytes = bytes + excluded.bytes

-- fragment: queue
-- A queue that was ever used or configured, with the sums of its counters.
name, COALESCE(max(paused), 0) AS paused, min(created_at) AS created_at,
max(changed_at) AS changed_at,
COALESCE(sum(scheduled), 0) AS scheduled, COALESCE(sum(available), 0) AS available, COALESCE(sum(pending), 0) AS pending,
COALESCE(sum(active), 0) AS active, COALESCE(sum(completed), 0) AS completed, COALESCE(sum(retryable), 0) AS retryable,
COALESCE(sum(cancelled), 0) AS cancelled, COALESCE(sum(discarded), 0) AS discarded, COALESCE(sum(bytes), 0) AS bytes,
(SELECT CAST(config AS BLOB) FROM queues WHERE queues.name = parts.name) AS config,
(SELECT configured_at FROM queues WHERE queues.name = parts.name) AS configured_at

-- fragment: queue_rows
-- The configuration and the counters of queues, under one another.
SELECT
    name, paused, created_at, changed_at, NULL AS scheduled, NULL AS available, NULL AS pending,
    NULL AS active, NULL AS completed, NULL AS retryable, NULL AS cancelled, NULL AS discarded,
    NULL AS bytes
FROM queues
UNION ALL
SELECT
    queue, NULL, created_at, NULL, scheduled, available, pending, active, completed, retryable,
    cancelled, discarded, bytes
FROM queue_counts

-- name: queues
-- Every queue; counters with a slash in their name are about tenants.
-- returns: QueueSums
SELECT {queue} FROM ({queue_rows}) AS parts WHERE instr(name, '/') = 0
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
VALUES (:queue, 0, :now, :now, CAST(:config AS TEXT), :now)
ON CONFLICT (name) DO UPDATE SET
    config = excluded.config, configured_at = excluded.configured_at

-- name: queue_configs
-- The configured queues.
SELECT name, CAST(config AS BLOB) FROM queues WHERE config IS NOT NULL

-- name: queue_loads
-- What runs in queues, what waits, and how many bytes that is.
-- row: queue text
-- returns: LoadedQueue
SELECT
    queue AS name, sum(active) AS active, sum(available + scheduled + retryable) AS depth,
    sum(bytes) AS bytes, sum(scheduled) AS scheduled
FROM queue_counts WHERE queue IN ({list}) GROUP BY queue

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
-- When the job that has been available for the longest joined each queue: one of the first of each
-- priority, or the first that is gated.
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
-- How many jobs of each priority are available, counted up to a limit.
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

-- name: delete_queue
-- Forget what was set for a queue, and its counters.
DELETE FROM queues WHERE name = :queue

-- name: delete_counts
-- Forget the counters of a queue.
DELETE FROM queue_counts WHERE queue = :queue

-- name: span_end
-- Where a stretch of jobs ends, in the order of ids.
SELECT max(id) FROM (SELECT id FROM jobs WHERE id > :after ORDER BY id LIMIT :span)

-- name: jobs_in_span
-- The jobs of a queue in a stretch, with their states and when they were last touched.
SELECT id, state, COALESCE(finished_at, created_at) FROM jobs
WHERE id > :after AND id <= :last AND queue = :queue

-- name: count_jobs
-- All jobs of queues, whatever their state.
-- row: queue text
SELECT queue, sum(
    scheduled + available + pending + active + completed + retryable + cancelled + discarded
)
FROM queue_counts WHERE queue IN ({list}) GROUP BY queue

-- name: queue_names
-- The names of all queues.
SELECT DISTINCT queue FROM queue_counts WHERE instr(queue, '/') = 0 ORDER BY queue
