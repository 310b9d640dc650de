-- name: insert_events
-- Store the events of this transaction, in order. An error undoes the whole transaction, as for new
-- jobs.
-- changes: events
-- row: pos int8, at int8, type text, subject text, queue text, job_type text, data json
INSERT OR ROLLBACK INTO events ({columns})
{rows}

-- name: events_after
-- The next stretch of the log.
SELECT pos, at, type, subject, queue, job_type, CAST(data AS BLOB)
FROM events WHERE pos > :after ORDER BY pos LIMIT :limit

-- name: touch
-- Write a row as it is.
-- changes: event_tally
UPDATE event_tally SET one = one

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
-- changes: events
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

-- name: load_receipts
-- Load the receipts of idempotency keys.
-- row: principal text, operation text, key text
WITH wanted AS ({rows})
SELECT principal, operation, key, body_hash, job_ids
FROM wanted CROSS JOIN receipts USING (principal, operation, key)

-- name: delete_receipts
-- Take keys back.
-- changes: receipts
-- row: principal text, operation text, key text
DELETE FROM receipts WHERE rowid IN (
    WITH gone AS ({rows})
    SELECT receipts.rowid FROM gone CROSS JOIN receipts USING (principal, operation, key)
)

-- name: prune_receipts
-- Keys that have served their day.
-- changes: receipts
DELETE FROM receipts WHERE rowid IN (
    SELECT rowid FROM receipts WHERE created_at < :before LIMIT :limit
)
