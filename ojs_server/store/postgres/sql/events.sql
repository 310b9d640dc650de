-- name: insert_events
-- Store the events of this transaction, in order.
-- changes: events
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
WHERE pos > :after::int8 AND pos < :end
ORDER BY pos LIMIT :limit

-- name: log_span
-- The oldest place, and the newest before the end.
-- returns: LogSpan
SELECT
    COALESCE(
        (SELECT min(pos) FROM events WHERE pos >= (SELECT event_tally.first FROM event_tally)), 0
    ) AS first,
    COALESCE((SELECT max(pos) FROM events WHERE pos < :end), 0) AS last

-- name: delete_events
-- The oldest that were counted, as far as they lie before a moment or are too many.
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

-- name: load_receipts
-- Load the receipts of idempotency keys.
-- row: principal text, operation text, key text
SELECT principal, operation, key, body_hash, job_ids
FROM ({rows}) AS wanted
JOIN receipts USING (principal, operation, key)

-- name: delete_receipts
-- Take keys back.
-- changes: receipts
-- row: principal text, operation text, key text
DELETE FROM receipts
USING ({rows}) AS gone
WHERE receipts.principal = gone.principal AND receipts.operation = gone.operation
    AND receipts.key = gone.key

-- name: prune_receipts
-- Keys that have served their day.
-- changes: receipts
DELETE FROM receipts WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM receipts WHERE created_at < :before LIMIT :limit FOR UPDATE SKIP LOCKED
))
