-- name: begin
-- Start a transaction: how it is to run, its moment, and its number. Settings are its own, so
-- that a connection pooler between us and the database cannot lose or mix them up. These
-- statements look rows up by index; statistics of a table that was empty a moment ago, or is
-- now, must not talk the planner into anything else.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT
    (extract(epoch FROM clock_timestamp()) * 1000)::int8,
    pg_current_xact_id()::text::int8,
    (SELECT value FROM settings WHERE name = 'position_offset'),
    set_config('synchronous_commit', 'on', true),
    set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true),
    set_config('lock_timeout', '10s', true),
    set_config('statement_timeout', '30s', true),
    set_config('idle_in_transaction_session_timeout', '60s', true)

-- name: clock
-- The database's time.
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8

-- name: outcome
-- What became of a transaction.
SELECT pg_xact_status(%s::text::xid8)

-- name: announce
-- Tell the nodes, if a fetch waits at any other.
SELECT pg_notify(%(channel)s, %(news)s)
WHERE EXISTS (
    SELECT FROM nodes WHERE node <> %(node)s::text AND waiting_until > %(now)s::int8
)

-- name: note_waiting
-- Fetches wait at this node until a moment.
INSERT INTO nodes AS known (node, seen_at, waiting_until)
VALUES (%(node)s, %(now)s, %(until)s)
ON CONFLICT (node) DO UPDATE SET
    seen_at = excluded.seen_at,
    waiting_until = greatest(known.waiting_until, excluded.waiting_until)
