-- name: insert_events
-- What this transaction did, in order.
-- row: pos int8, at int8, type text, subject text, queue text, job_type text, data json
INSERT INTO events ({columns})
{rows}

-- name: log_end
-- The number below which each transaction of a server that writes has ended: a later statement sees
-- all that it wrote. The statement's snapshot comes before its look at the sessions. A number below
-- the snapshot's end had been given to a transaction by then, which is found in its session, under
-- the name that it took first, or has ended meanwhile (docs/decisions/0052). Nobody else is waited
-- for. The sessions' numbers have the low 32 bits only: their distance from the end is added to it.
WITH seen AS MATERIALIZED (
    SELECT pg_snapshot_xmin(at)::text::int8 AS oldest, pg_snapshot_xmax(at)::text::int8 AS upto
    FROM pg_current_snapshot() AS at
)
SELECT value + upto + least(0, (
    SELECT min(((backend_xid::text::int8 - upto + 2147483648) & 4294967295) - 2147483648)
    FROM pg_stat_activity
    WHERE oldest < upto AND datname = current_database() AND application_name = {writer}
))
FROM seen CROSS JOIN settings WHERE name = 'position_offset'

-- name: events_after
-- The next stretch of the log.
SELECT pos, at, type, subject, queue, job_type, data
FROM events
WHERE pos > %(after)s::int8 AND pos < %(end)s::int8
ORDER BY pos LIMIT %(limit)s::int8

-- name: events_before
-- The stretch of the log before a place, newest first.
SELECT pos, at, type, subject, queue, job_type, data
FROM events
WHERE pos > %(after)s::int8 AND pos < %(before)s::int8
ORDER BY pos DESC LIMIT %(limit)s::int8

-- name: load_tally
-- How many events there are, and up to where they were counted; nothing while another node counts.
SELECT upto, total FROM event_tally FOR UPDATE SKIP LOCKED

-- name: count_events
-- How many lie in the next stretch, and where it ends.
SELECT count(*), max(pos) FROM (
    SELECT pos FROM events
    WHERE pos > %(upto)s::int8 AND pos < %(end)s::int8
    ORDER BY pos LIMIT %(limit)s::int8
) AS stretch

-- name: save_tally
-- What was counted.
UPDATE event_tally SET upto = %(upto)s::int8, total = %(total)s::int8

-- name: lower_tally
-- Count removed events off, and note the first one that is left. None can be stored before it: below
-- `upto` the log is complete.
UPDATE event_tally SET total = total - %(removed)s::int8, first = least(
    upto + 1, COALESCE((SELECT min(pos) FROM events WHERE pos >= event_tally.first), upto + 1)
)

-- name: log_span
-- The oldest place, and the newest before the end.
-- returns: LogSpan
SELECT
    COALESCE(
        (SELECT min(pos) FROM events WHERE pos >= (SELECT event_tally.first FROM event_tally)), 0
    ) AS first,
    COALESCE((SELECT max(pos) FROM events WHERE pos < %(end)s::int8), 0) AS last

-- name: delete_events
-- The oldest that were counted, as far as they lie before a moment or are too many.
DELETE FROM events WHERE pos = ANY (ARRAY(
    SELECT pos FROM (
        SELECT pos, at, row_number() OVER (ORDER BY pos) AS place FROM (
            SELECT pos, at FROM events
            WHERE pos >= (SELECT event_tally.first FROM event_tally)
                AND pos <= (SELECT upto FROM event_tally)
            ORDER BY pos LIMIT %(limit)s::int8
        ) AS oldest
    ) AS placed
    WHERE at < %(before)s::int8 OR place <= %(surplus)s::int8
))

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

-- name: load_receipts
-- What was stored under keys.
-- row: principal text, operation text, key text
SELECT principal, operation, key, body_hash, job_ids
FROM ({rows}) AS wanted
JOIN receipts USING (principal, operation, key)

-- name: delete_receipts
-- Take keys back.
-- row: principal text, operation text, key text
DELETE FROM receipts
USING ({rows}) AS gone
WHERE receipts.principal = gone.principal AND receipts.operation = gone.operation
    AND receipts.key = gone.key

-- name: prune_receipts
-- Keys that have served their day.
DELETE FROM receipts WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM receipts WHERE created_at < %(before)s::int8 LIMIT %(limit)s::int8 FOR UPDATE SKIP LOCKED
))
