-- name: begin_tally
-- Store the tally of events, which is always there, with nothing counted.
-- changes: event_tally
INSERT INTO event_tally (one, upto, total) VALUES (1, 0, 0)

-- name: events_after
-- Read the events of a range of positions, oldest first.
SELECT pos, at, type, subject, queue, job_type, {json:data}
FROM events
WHERE pos > :after::int8 AND pos < :end
ORDER BY pos LIMIT :limit

-- name: events_before
-- Read the events of a range of positions, newest first.
SELECT pos, at, type, subject, queue, job_type, {json:data}
FROM events
WHERE pos > :after::int8 AND pos < :before
ORDER BY pos DESC LIMIT :limit

-- name: load_tally
-- Lock and load the tally of events; no row while another node counts.
SELECT upto, total FROM event_tally FOR UPDATE SKIP LOCKED

-- name: count_events
-- Count the events of the next range of positions, and return the end of the range.
SELECT count(*), max(pos) FROM (
    SELECT pos FROM events
    WHERE pos > :upto AND pos < :end
    ORDER BY pos LIMIT :limit
) AS stretch

-- name: save_tally
-- Store the tally of events.
-- changes: event_tally
UPDATE event_tally SET upto = :upto, total = :total

-- name: lower_tally
-- Subtract removed events from the tally, and store the first position that is left. No event can
-- be stored before it, because the log is complete below `upto`.
-- changes: event_tally
UPDATE event_tally SET total = total - :removed, first = least(
    upto + 1, COALESCE((SELECT min(pos) FROM events WHERE pos >= event_tally.first), upto + 1)
)

-- name: log_span
-- Return the first position in the log, and the last one before the end. Each is a search of its
-- own, as one for both would read all of the key.
-- returns: LogSpan
SELECT
    COALESCE(
        (SELECT min(pos) FROM events WHERE pos >= (SELECT event_tally.first FROM event_tally)), 0
    ) AS first,
    COALESCE((SELECT max(pos) FROM events WHERE pos < :end), 0) AS last

-- name: last_position
-- Return the highest position in use. Retries that stay behind all other jobs have positions of a
-- separate range, which is left out.
SELECT greatest(
    COALESCE((SELECT max(pos) FROM events), 0),
    COALESCE((SELECT max(seq) FROM jobs WHERE state = 'available' AND seq < 4611686018427387904), 0)
)

-- name: delete_events
-- Delete the oldest events of those that were counted: the ones before a moment, and the surplus.
-- changes: events
DELETE FROM events WHERE pos = ANY (ARRAY(
    SELECT pos FROM (
        SELECT pos, at, row_number() OVER (ORDER BY pos) AS place FROM (
            SELECT pos, at FROM events
            WHERE pos >= (SELECT event_tally.first FROM event_tally)
                AND pos <= (SELECT upto FROM event_tally)
            ORDER BY pos LIMIT :limit
        ) AS oldest
    ) AS placed
    WHERE at < :before OR place <= :surplus
))

-- name: insert_receipts
-- Store idempotency keys. One that exists is left alone and not returned.
-- changes: receipts
-- row: principal text, operation text, key text, body_hash bytea, job_ids text, created_at int8
INSERT INTO receipts ({columns})
{rows}
ON CONFLICT DO NOTHING
RETURNING principal, operation, key

-- name: load_receipts
-- Load the receipts of idempotency keys.
-- row: principal text, operation text, key text
SELECT principal, operation, key, body_hash, job_ids FROM receipts
WHERE (principal, operation, key) IN ({rows})

-- name: delete_receipts
-- Take back receipts.
-- changes: receipts
-- row: principal text, operation text, key text
DELETE FROM receipts WHERE (principal, operation, key) IN ({rows})

-- name: prune_receipts
-- Remove receipts from before a moment.
-- changes: receipts
DELETE FROM receipts WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM receipts WHERE created_at < :before LIMIT :limit FOR UPDATE SKIP LOCKED
))
