-- name: insert_events
-- Store the events of this transaction, in order. One of a job that has events of a transaction with
-- a higher number gets no position and is refused: the log would tell it before them. Their
-- transaction has ended, as this one has locked the job since (docs/decisions/0068).
-- differs: SQLite numbers transactions in the order of their commits.
-- changes: events
-- row: pos int8, at int8, type text, subject text, queue text, job_type text, data json
WITH later AS MATERIALIZED (
    -- In parentheses of its own it looks the same to the planner in each transaction.
    SELECT subject FROM events WHERE pos > (SELECT (:pos::int8[])[1] | {last_place})
)
INSERT INTO events ({columns})
SELECT
    CASE WHEN job_type IS NULL OR subject NOT IN (SELECT subject FROM later) THEN pos END,
    at, type, subject, queue, job_type, data
FROM ({rows}) AS event

-- fragment: last_place
-- The places of a transaction's positions, all bits set.
262143

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

-- name: log_head
-- The number above those of all transactions that have ended.
SELECT value + pg_snapshot_xmax(pg_current_snapshot())::text::int8
FROM settings WHERE name = 'position_offset'
