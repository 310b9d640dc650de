-- name: insert_events
-- What this transaction did, in order; undone with all of it, as new jobs are.
-- row: pos int8, at int8, type text, subject text, queue text, job_type text, data json
INSERT OR ROLLBACK INTO events ({columns})
{rows}

-- name: events_after
-- The next stretch of the log.
SELECT pos, at, type, subject, queue, job_type, CAST(data AS BLOB)
FROM events WHERE pos > :after ORDER BY pos LIMIT :limit

-- name: events_before
-- The stretch of the log before a place, newest first.
SELECT pos, at, type, subject, queue, job_type, CAST(data AS BLOB)
FROM events WHERE pos > :after AND pos < :before ORDER BY pos DESC LIMIT :limit

-- name: touch
-- Write a row as it is.
UPDATE event_tally SET one = one

-- name: load_tally
-- How many events there are, and up to where they were counted.
SELECT upto, total FROM event_tally

-- name: count_events
-- How many lie in the next stretch, and where it ends.
SELECT count(*), max(pos) FROM (
    SELECT pos FROM events WHERE pos > :upto AND pos < :end ORDER BY pos LIMIT :limit
)

-- name: save_tally
-- What was counted.
UPDATE event_tally SET upto = :upto, total = :total

-- name: lower_tally
-- Count removed events off, and note the first one that is left. None can be stored before it: below
-- `upto` the log is complete.
UPDATE event_tally SET total = total - :removed, first = min(
    upto + 1, COALESCE((SELECT min(pos) FROM events WHERE pos >= event_tally.first), upto + 1)
)

-- name: log_span
-- The oldest and the newest place. Two searches of the key; one with both would read all of it.
-- returns: LogSpan
SELECT
    COALESCE(
        (SELECT min(pos) FROM events WHERE pos >= (SELECT event_tally.first FROM event_tally)), 0
    ) AS first,
    COALESCE((SELECT max(pos) FROM events), 0) AS last

-- name: delete_events
-- The oldest that were counted, as far as they lie before a moment or are too many.
DELETE FROM events WHERE pos IN (
    SELECT pos FROM (
        SELECT pos, at, row_number() OVER (ORDER BY pos) AS place FROM (
            SELECT pos, at FROM events
            WHERE pos >= (SELECT event_tally.first FROM event_tally)
                AND pos <= (SELECT upto FROM event_tally)
            ORDER BY pos LIMIT :limit
        )
    )
    WHERE at < :before OR place <= :surplus
)

-- name: last_position
-- The highest place ever used that is still to be seen. Retries that are to stand behind all
-- others have places that are none of the count.
SELECT max(
    COALESCE((SELECT max(pos) FROM events), 0),
    COALESCE((SELECT max(seq) FROM jobs WHERE state = 'available' AND seq < 4611686018427387904), 0)
)

-- name: insert_receipts
-- Idempotency keys; one that exists is left alone and not answered.
-- row: principal text, operation text, key text, body_hash bytea, job_ids text, created_at int8
INSERT INTO receipts ({columns})
{rows} ON CONFLICT DO NOTHING
RETURNING principal, operation, key

-- name: load_receipts
-- What was stored under keys.
-- row: principal text, operation text, key text
WITH wanted AS ({rows})
SELECT principal, operation, key, body_hash, job_ids
FROM wanted CROSS JOIN receipts USING (principal, operation, key)

-- name: delete_receipts
-- Take keys back.
-- row: principal text, operation text, key text
DELETE FROM receipts WHERE rowid IN (
    WITH gone AS ({rows})
    SELECT receipts.rowid FROM gone CROSS JOIN receipts USING (principal, operation, key)
)

-- name: prune_receipts
-- Keys that have served their day.
DELETE FROM receipts WHERE rowid IN (
    SELECT rowid FROM receipts WHERE created_at < :before LIMIT :limit
)
