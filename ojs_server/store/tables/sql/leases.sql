-- name: insert_leases
-- Who holds what was just claimed.
-- row: Lease
INSERT INTO leases ({columns})
{rows}

-- name: move_leases
-- Their jobs stand in other queues now.
-- row: job_id text, queue text
UPDATE leases SET queue = moved.queue
FROM ({rows}) AS moved WHERE leases.job_id = moved.job_id

-- name: load_leases
-- Lock leases by job.
-- row: job_id text
-- returns: Lease
SELECT {Lease} FROM leases WHERE job_id IN ({list}) ORDER BY job_id FOR UPDATE

-- name: load_fetches
-- Lock leases by the fetch that was answered with them.
-- row: fetch_id text
-- returns: Lease
SELECT {Lease} FROM leases WHERE fetch_id IN ({list}) ORDER BY job_id FOR UPDATE

-- fragment: judged
-- Whether a lease may be judged: handed out since the store has been reachable, so that its holder
-- could be heard all along, or the store has been reachable for long enough.
(
    run.started_at >= :since
    OR :since + least(leases.duration_ms, :grace) <= :until
)
