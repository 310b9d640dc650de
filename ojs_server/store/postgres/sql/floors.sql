-- The positions below which a queue has no available jobs; see postgres/floors.py.

-- name: note_returns
-- Jobs of this transaction that are available at older positions than its own.
-- changes: returns
-- row: pos int8, queue text, priority int8, seq int8, at int8
INSERT INTO returns ({columns})
{rows}

-- name: forget_returns
-- Notes that every node has read, or will have forgotten its floors by now.
-- changes: returns
DELETE FROM returns WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM returns WHERE pos >= :after::int8 AND at < :before
    ORDER BY pos LIMIT :limit FOR UPDATE SKIP LOCKED
))
RETURNING pos

-- fragment: first_above
-- The first of them that is available.
AND seq >= LEAST(
    level.floor,
    (
        SELECT min(seq) FROM returns
        WHERE pos >= level.since AND queue = level.queue AND priority = level.priority
    )
)
ORDER BY seq LIMIT 1

-- name: find_floors
-- The first available position of priorities of queues.
-- row: queue text, type text, priority int8, floor int8, since int8
SELECT level.queue, level.type, level.priority, (
    SELECT seq FROM jobs
    WHERE state = 'available' AND NOT gated AND jobs.queue = level.queue
        AND jobs.priority = level.priority {first_above}
)
FROM ({rows}) AS level

-- name: find_floors_of_types
-- Like find_floors, for one job type each.
-- row: queue text, type text, priority int8, floor int8, since int8
SELECT level.queue, level.type, level.priority, (
    SELECT seq FROM jobs
    WHERE state = 'available' AND NOT gated AND jobs.queue = level.queue
        AND jobs.type = level.type AND jobs.priority = level.priority {first_above}
)
FROM ({rows}) AS level
