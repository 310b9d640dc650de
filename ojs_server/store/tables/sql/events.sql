-- name: begin_tally
-- Store the tally of events, which is always there, with nothing counted.
-- changes: event_tally
INSERT INTO event_tally (one, upto, total) VALUES (1, 0, 0)

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

-- name: last_position
-- Return the highest position in use. Retries that stay behind all other jobs have positions of a
-- separate range, which is left out.
SELECT greatest(
    COALESCE((SELECT max(pos) FROM events), 0),
    COALESCE((SELECT max(seq) FROM jobs WHERE state = 'available' AND seq < 4611686018427387904), 0)
)

-- name: insert_receipts
-- Store idempotency keys. One that exists is left alone and not returned.
-- changes: receipts
-- row: principal text, operation text, key text, body_hash bytea, job_ids text, created_at int8
INSERT INTO receipts ({columns})
{rows}
ON CONFLICT DO NOTHING
RETURNING principal, operation, key
