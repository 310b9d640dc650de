-- name: set_paused
-- Pause or resume, whether the queue was ever used or not.
INSERT INTO queues (name, paused, created_at, changed_at) VALUES (:queue, :paused, :now, :now)
ON CONFLICT (name) DO UPDATE SET paused = excluded.paused, changed_at = excluded.changed_at

-- name: add_counts
-- Move the counters of queues by what this transaction did.
-- row: (?,?,?,?,?,?,?,?,?,?,?)
INSERT INTO queue_counts (
    queue, node, created_at, scheduled, available, pending, active, completed, retryable,
    cancelled, discarded
)
VALUES {rows}
ON CONFLICT (queue, node) DO UPDATE SET
    scheduled = scheduled + excluded.scheduled, available = available + excluded.available,
    pending = pending + excluded.pending, active = active + excluded.active,
    completed = completed + excluded.completed, retryable = retryable + excluded.retryable,
    cancelled = cancelled + excluded.cancelled, discarded = discarded + excluded.discarded

-- fragment: queue
-- A queue that was ever used or configured, with the sums of its counters.
name, COALESCE(max(paused), 0), min(created_at), max(changed_at),
COALESCE(sum(scheduled), 0), COALESCE(sum(available), 0), COALESCE(sum(pending), 0),
COALESCE(sum(active), 0), COALESCE(sum(completed), 0), COALESCE(sum(retryable), 0),
COALESCE(sum(cancelled), 0), COALESCE(sum(discarded), 0)

-- fragment: queue_rows
-- The configuration and the counters of queues, under one another.
SELECT
    name, paused, created_at, changed_at, NULL AS scheduled, NULL AS available, NULL AS pending,
    NULL AS active, NULL AS completed, NULL AS retryable, NULL AS cancelled, NULL AS discarded
FROM queues
UNION ALL
SELECT
    queue, NULL, created_at, NULL, scheduled, available, pending, active, completed, retryable,
    cancelled, discarded
FROM queue_counts

-- name: queues
-- Every queue.
SELECT {queue} FROM ({queue_rows}) GROUP BY name ORDER BY name

-- name: some_queues
-- The same for these names.
-- row: ?
SELECT {queue} FROM ({queue_rows}) WHERE name IN ({rows}) GROUP BY name ORDER BY name
