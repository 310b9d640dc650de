-- differs: programs stage jobs in transactions that end in another order than they began.

-- name: snapshot
-- Return the first transaction that has not begun, and those that have not ended.
SELECT pg_snapshot_xmax(seen)::text::int8,
    ARRAY(SELECT pg_snapshot_xip(seen)::text::int8)
FROM pg_current_snapshot() AS seen

-- name: staged
-- Return staged jobs of transactions that had not ended at an earlier look, in their order.
-- returns: Staged
SELECT {Staged} FROM (
    (SELECT * FROM staged_jobs WHERE xact = ANY (:unfinished) ORDER BY xact, place LIMIT :limit)
    UNION ALL
    (SELECT * FROM staged_jobs WHERE xact >= :since ORDER BY xact, place LIMIT :limit)
) AS staged_jobs
ORDER BY xact, place LIMIT :limit

-- name: insert_staged
-- Stage jobs.
-- changes: staged_jobs
-- row: Staged
INSERT INTO staged_jobs ({columns}, xact)
SELECT {columns}, pg_current_xact_id()::text::int8 FROM ({rows}) AS staged
ON CONFLICT (id) DO NOTHING
