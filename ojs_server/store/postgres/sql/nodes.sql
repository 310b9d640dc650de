-- name: begin
-- Start a transaction.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE

-- fragment: planning
-- Statements look rows up by index; statistics of a table that was empty a moment ago, or is now,
-- must not talk the planner into anything else. A way that is off counts as dear beyond measure,
-- which for JIT would be a reason to compile the statement, every time that it is carried out.
set_config('jit', 'off', :local),
    set_config('enable_seqscan', 'off', :local),
    set_config('enable_bitmapscan', 'off', :local),
    set_config('enable_hashjoin', 'off', :local),
    set_config('enable_mergejoin', 'off', :local)

-- name: plan_by_index
-- Settings of the planner, for a session or for a transaction.
SELECT {planning}

-- fragment: writer
-- The name of a session while it is in a transaction that may write events.
'ojs-server'

-- name: begun
-- Set up a transaction, and read its moment and its number. It takes the name by which readers of the
-- log know it before it is given a number. Settings are its own, so that a connection pooler between us and the database
-- cannot lose or mix them up.
SELECT
    (extract(epoch FROM clock_timestamp()) * 1000)::int8,
    CASE WHEN set_config('application_name', {writer}, true) IS NOT NULL
        THEN pg_current_xact_id()::text::int8 END,
    (SELECT value FROM settings WHERE name = 'position_offset'),
    (SELECT value FROM settings WHERE name = 'queue_configs'),
    set_config('synchronous_commit', 'on', true),
    {planning},
    set_config('lock_timeout', CAST(:lock_ms AS text), true),
    set_config('statement_timeout', '30s', true),
    set_config('idle_in_transaction_session_timeout', '60s', true)

-- name: bound_transaction
-- From version 17 on the database ends by itself a transaction that goes on for too long.
SELECT set_config('transaction_timeout', '30s', true)

-- name: watch_client
-- Let the database notice within seconds that this client is gone, since others want what it has
-- locked. Not every platform can do all of it.
DO $$
BEGIN
    BEGIN
        PERFORM
            set_config('tcp_keepalives_idle', '5', false),
            set_config('tcp_keepalives_interval', '2', false),
            set_config('tcp_keepalives_count', '3', false),
            set_config('tcp_user_timeout', '10s', false);
    EXCEPTION WHEN OTHERS THEN
        NULL;
    END;
    BEGIN
        PERFORM set_config('client_connection_check_interval', '2s', false);
    EXCEPTION WHEN OTHERS THEN
        NULL;
    END;
END $$

-- name: wait_briefly
-- Wait for no lock in this transaction.
SELECT set_config('lock_timeout', '100ms', true)

-- name: held
-- Rows that are locked by transactions which have been open for a while. A row names who has it
-- until that transaction ends, so nothing is locked to find out.
WITH late AS MATERIALIZED (
    SELECT backend_xid::text AS xid FROM pg_stat_activity
    WHERE datname = current_database() AND backend_xid IS NOT NULL
        AND xact_start < clock_timestamp() - :for_ms * interval '1 millisecond'
)
SELECT 'limits', name FROM limits
WHERE name = ANY (:limits) AND xmax::text IN (SELECT xid FROM late)
UNION ALL
SELECT 'limits', name FROM limits
WHERE name >= '#' AND name < '$' AND xmax::text IN (SELECT xid FROM late)
UNION ALL
SELECT 'jobs', id FROM jobs
WHERE id = ANY (:jobs) AND (
    xmax::text IN (SELECT xid FROM late)
    OR (
        SELECT xmax::text IN (SELECT xid FROM late) FROM limits WHERE limits.name = jobs.rate_key
    )
)
UNION ALL
SELECT 'workers', id FROM workers
WHERE id = ANY (:workers) AND xmax::text IN (SELECT xid FROM late)

-- name: silent
-- Transactions of servers like this one that wait for their client, and since which statement.
SELECT pid, backend_start::text, query_start::text FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND application_name = {writer}
    AND backend_xid IS NOT NULL AND wait_event IN ('ClientRead', 'ClientWrite')

-- name: end_silent
-- End a transaction that still waits for its client since the same statement.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE pid = :pid AND backend_start::text = :backend
    AND query_start::text = :since::text AND wait_event IN ('ClientRead', 'ClientWrite')

-- name: forget_plans
-- A plan that is kept was made for the tables as they were. While a table is empty, to read all of
-- it is as good as any other way, and stays so in the plan until the next ANALYZE.
DISCARD PLANS

-- name: clock
-- The database's time.
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8

-- name: channel
-- Return the channel on which the nodes of this schema send notices. Channels belong to a database,
-- so each schema has its own.
SELECT 'ojs_' || to_hex(hashtextextended(current_schema(), 0))

-- name: synchronous_commit
-- Return the setting of this connection that says what its commits wait for.
SELECT current_setting('synchronous_commit')

-- name: unsafe_settings
-- List settings that are off although commits need them to survive a crash.
SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'
ORDER BY name

-- name: announce
-- Tell the nodes, if a fetch waits at any other.
SELECT pg_notify(:channel, :notice)
WHERE EXISTS (
    SELECT FROM nodes WHERE node <> :node AND waiting_until > :now
)

-- name: tell
-- Tell every node.
SELECT pg_notify(:channel, :notice)

-- name: note_waiting
-- Fetches wait at this node until a moment.
-- changes: nodes
INSERT INTO nodes AS known (node, seen_at, waiting_until)
VALUES (:node, :now, :until)
ON CONFLICT (node) DO UPDATE SET
    seen_at = excluded.seen_at,
    waiting_until = greatest(known.waiting_until, excluded.waiting_until)

-- name: announce_node
-- A node is up.
-- changes: nodes
INSERT INTO nodes AS known (
    node, seen_at, waiting_until, started_at, host, process, version, waiting_fetches, event_streams
)
VALUES (
    :node, :now, 0, :now, :host, :process,
    :version, :waiting_fetches, :event_streams
)
ON CONFLICT (node) DO UPDATE SET
    seen_at = excluded.seen_at, started_at = COALESCE(known.started_at, excluded.started_at),
    host = excluded.host, process = excluded.process, version = excluded.version,
    waiting_fetches = excluded.waiting_fetches, event_streams = excluded.event_streams

-- name: withdraw_node
-- A node has stopped. Its row stays as long as its counters do.
-- changes: nodes
UPDATE nodes SET started_at = NULL WHERE node = :node

-- name: nodes
-- The nodes that have not stopped.
SELECT node, started_at, seen_at, host, process, version, waiting_fetches, event_streams
FROM nodes WHERE started_at IS NOT NULL

-- name: raise_positions
-- Let this transaction's place lie above those that were used.
-- changes: settings
UPDATE settings SET value = :used + 1 - pg_current_xact_id()::text::int8
WHERE name = 'position_offset'
    AND pg_current_xact_id()::text::int8 + value <= :used

-- name: enter
-- A node is here.
-- changes: nodes
INSERT INTO nodes (node, seen_at, waiting_until)
VALUES (:node, (extract(epoch FROM clock_timestamp()) * 1000)::int8, 0)
ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at

-- name: primary
-- Return the address of this server; none over a socket of its machine.
SELECT host(inet_server_addr()), inet_server_port()

-- name: fold_counts
-- Add the counters of nodes that are gone to this node's, or their rows would pile up. Rows that
-- are locked belong to somebody who is not gone.
-- changes: queue_counts
WITH gone AS MATERIALIZED (
    SELECT queue, node FROM queue_counts
    WHERE NOT EXISTS (
        SELECT FROM nodes WHERE nodes.node = split_part(queue_counts.node, '#', 1)
            AND seen_at > (extract(epoch FROM clock_timestamp()) * 1000)::int8 - :gone_ms
    )
    FOR UPDATE SKIP LOCKED
), taken AS (
    DELETE FROM queue_counts USING gone
    WHERE queue_counts.queue = gone.queue AND queue_counts.node = gone.node
    RETURNING queue_counts.*
)
{added_rows}

-- name: forget_nodes
-- Nodes whose counters were taken over.
-- changes: nodes
DELETE FROM nodes
WHERE seen_at <= (extract(epoch FROM clock_timestamp()) * 1000)::int8 - :gone_ms
    AND NOT EXISTS (
        SELECT FROM queue_counts WHERE split_part(queue_counts.node, '#', 1) = nodes.node
    )
