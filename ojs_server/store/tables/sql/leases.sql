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
