-- name: begin_tally
-- There is always a count, of nothing at first.
INSERT INTO event_tally (one, upto, total) VALUES (1, 0, 0)

-- name: events_before
-- The stretch of the log before a place, newest first.
SELECT pos, at, type, subject, queue, job_type, {json:data}
FROM events
WHERE pos > :after::int8 AND pos < :before
ORDER BY pos DESC LIMIT :limit

-- name: load_tally
-- How many events there are, and up to where they were counted; nothing while another node counts.
SELECT upto, total FROM event_tally FOR UPDATE SKIP LOCKED

-- name: count_events
-- How many lie in the next stretch, and where it ends.
SELECT count(*), max(pos) FROM (
    SELECT pos FROM events
    WHERE pos > :upto AND pos < :end
    ORDER BY pos LIMIT :limit
) AS stretch

-- name: save_tally
-- What was counted.
UPDATE event_tally SET upto = :upto, total = :total

-- name: lower_tally
-- Count removed events off, and note the first one that is left. None can be stored before it: below
-- `upto` the log is complete.
UPDATE event_tally SET total = total - :removed, first = least(
    upto + 1, COALESCE((SELECT min(pos) FROM events WHERE pos >= event_tally.first), upto + 1)
)

-- name: last_position
-- The highest place ever used that is still to be seen. Retries that are to stand behind all
-- others have places that are none of the count.
SELECT greatest(
    COALESCE((SELECT max(pos) FROM events), 0),
    COALESCE((SELECT max(seq) FROM jobs WHERE state = 'available' AND seq < 4611686018427387904), 0)
)

-- name: insert_receipts
-- Idempotency keys; one that exists is left alone and not answered.
-- row: principal text, operation text, key text, body_hash bytea, job_ids text, created_at int8
INSERT INTO receipts ({columns})
{rows}
ON CONFLICT DO NOTHING
RETURNING principal, operation, key
