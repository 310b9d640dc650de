-- name: set_paused
-- Pause or resume, whether the queue was ever used or not.
INSERT INTO queues (name, paused, created_at, changed_at) VALUES (?1, ?2, ?3, ?3)
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

-- name: queues
-- Every queue that was ever used or configured.
SELECT
    names.name, COALESCE(max(queues.paused), 0),
    min(COALESCE(queue_counts.created_at, queues.created_at)), max(queues.changed_at),
    COALESCE(sum(scheduled), 0), COALESCE(sum(available), 0), COALESCE(sum(pending), 0),
    COALESCE(sum(active), 0), COALESCE(sum(completed), 0), COALESCE(sum(retryable), 0),
    COALESCE(sum(cancelled), 0), COALESCE(sum(discarded), 0)
FROM (SELECT name FROM queues UNION SELECT queue FROM queue_counts) AS names
LEFT JOIN queues ON queues.name = names.name
LEFT JOIN queue_counts ON queue_counts.queue = names.name
GROUP BY names.name ORDER BY names.name

-- name: some_queues
-- The same for these names.
-- row: (?)
WITH names (name) AS (VALUES {rows})
SELECT
    names.name, COALESCE(max(queues.paused), 0),
    min(COALESCE(queue_counts.created_at, queues.created_at)), max(queues.changed_at),
    COALESCE(sum(scheduled), 0), COALESCE(sum(available), 0), COALESCE(sum(pending), 0),
    COALESCE(sum(active), 0), COALESCE(sum(completed), 0), COALESCE(sum(retryable), 0),
    COALESCE(sum(cancelled), 0), COALESCE(sum(discarded), 0)
FROM names
LEFT JOIN queues ON queues.name = names.name
LEFT JOIN queue_counts ON queue_counts.queue = names.name
GROUP BY names.name
HAVING count(queues.name) + count(queue_counts.queue) > 0
ORDER BY names.name
