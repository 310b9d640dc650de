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
