-- name: set_paused
-- Pause or resume, whether the queue was ever used or not.
INSERT INTO queues (name, paused, created_at, changed_at)
VALUES (%(queue)s, %(paused)s, %(now)s, %(now)s)
ON CONFLICT (name) DO UPDATE SET paused = excluded.paused, changed_at = excluded.changed_at

-- name: add_counts
-- Move the counters of queues by what this transaction did.
-- row: text, text, int8, int8, int8, int8, int8, int8, int8, int8, int8
INSERT INTO queue_counts AS kept (
    queue, node, created_at, scheduled, available, pending, active, completed, retryable,
    cancelled, discarded
)
SELECT * FROM unnest({rows})
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
discarded = kept.discarded + excluded.discarded

-- fragment: queue
-- A queue that was ever used or configured, with the sums of its counters.
name, COALESCE(bool_or(paused), false), min(created_at), max(changed_at),
COALESCE(sum(scheduled), 0)::int8, COALESCE(sum(available), 0)::int8,
COALESCE(sum(pending), 0)::int8, COALESCE(sum(active), 0)::int8,
COALESCE(sum(completed), 0)::int8, COALESCE(sum(retryable), 0)::int8,
COALESCE(sum(cancelled), 0)::int8, COALESCE(sum(discarded), 0)::int8

-- fragment: queue_rows
-- The configuration and the counters of queues, under one another.
SELECT
    name, paused, created_at, changed_at, NULL::int8 AS scheduled, NULL::int8 AS available,
    NULL::int8 AS pending, NULL::int8 AS active, NULL::int8 AS completed,
    NULL::int8 AS retryable, NULL::int8 AS cancelled, NULL::int8 AS discarded
FROM queues
UNION ALL
SELECT
    queue, NULL, created_at, NULL, scheduled, available, pending, active, completed, retryable,
    cancelled, discarded
FROM queue_counts

-- name: queues
-- Every queue.
SELECT {queue} FROM ({queue_rows}) AS parts GROUP BY name ORDER BY name

-- name: some_queues
-- The same for these names.
-- row: text
SELECT {queue} FROM ({queue_rows}) AS parts WHERE name = ANY ({rows}) GROUP BY name ORDER BY name
