-- name: insert_leases
-- Store the leases of jobs that were just claimed.
-- changes: leases
-- row: Lease
INSERT INTO leases ({columns})
{rows}

-- name: move_leases
-- Store the new queues of leased jobs.
-- changes: leases
-- row: job_id text, queue text
UPDATE leases SET queue = moved.queue
FROM ({rows}) AS moved WHERE leases.job_id = moved.job_id

-- name: load_leases
-- Lock leases by job.
-- row: job_id text
-- returns: Lease
SELECT {Lease} FROM leases WHERE job_id IN ({list}) ORDER BY job_id FOR UPDATE

-- name: leases_of
-- Read the leases of jobs.
-- row: job_id text
-- returns: Lease
SELECT {Lease} FROM leases WHERE job_id IN ({list})

-- name: load_fetches
-- Lock leases by the fetch that they were given to.
-- row: fetch_id text
-- returns: Lease
SELECT {Lease} FROM leases WHERE fetch_id IN ({list}) ORDER BY job_id FOR UPDATE

-- fragment: judged
-- True if a lease may be judged: its job was handed out since the store has been reachable, so that
-- its holder could be heard all along, or the store has been reachable for long enough.
(
    run.started_at >= :since
    OR :since + least(leases.duration_ms, :grace) <= :until
)

-- name: start_lease
-- Store the begin of the work; the first report counts.
-- changes: leases
UPDATE leases SET running_at = COALESCE(running_at, :now)
WHERE job_id = :job_id
