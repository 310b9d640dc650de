-- fragment: lease
-- A Lease, in the order of its fields.
leases.job_id, leases.queue, leases.job_type, leases.worker_id, leases.attempt,
leases.duration_ms, leases.expires_at, leases.deadline_at, leases.fetch_id, leases.stall_ms,
leases.trace_id, leases.late_ack, leases.running_at

-- name: insert_leases
-- Who holds what was just claimed.
-- row: (?,?,?,?,?,?,?,?,?,?,?,?)
-- columns: job_id, queue, job_type, worker_id, attempt, duration_ms, expires_at, deadline_at, fetch_id, stall_ms, trace_id, late_ack
INSERT INTO leases {rows}

-- name: move_leases
-- Their jobs stand in other queues now.
-- row: (?,?)
UPDATE leases SET queue = moved.column2
FROM ({rows}) AS moved WHERE leases.job_id = moved.column1

-- name: drop_leases
-- The hold is over.
-- row: ?
DELETE FROM leases WHERE job_id IN ({rows})

-- name: load_leases
-- Leases by job.
-- row: ?
SELECT {lease} FROM leases WHERE job_id IN ({rows})

-- name: load_fetches
-- Leases by the fetch that was answered with them.
-- row: ?
SELECT {lease} FROM leases WHERE fetch_id IN ({rows})

-- name: extend_leases
-- New ends.
-- row: (?,?)
UPDATE leases SET expires_at = extension.column2
FROM ({rows}) AS extension WHERE leases.job_id = extension.column1

-- fragment: judged
-- Whether a lease may be judged: handed out since the store has been reachable, so that its holder
-- could be heard all along, or the store has been reachable for long enough.
(run.started_at >= :since OR :since + min(leases.duration_ms, :grace) <= :until)

-- name: load_lapsed
-- Leases whose time is over, as far as the store was reachable to hear from their holders.
SELECT {job}, {lease}
FROM (
    SELECT job_id FROM (
        SELECT leases.job_id FROM leases CROSS JOIN jobs AS run ON run.id = leases.job_id
        WHERE leases.expires_at <= :until AND {judged}
        ORDER BY leases.expires_at LIMIT :limit
    )
    UNION
    SELECT job_id FROM (
        SELECT leases.job_id FROM leases CROSS JOIN jobs AS run ON run.id = leases.job_id
        WHERE leases.deadline_at <= :until AND {judged}
        ORDER BY leases.deadline_at LIMIT :limit
    )
    LIMIT :limit
) AS lapsed
CROSS JOIN jobs ON jobs.id = lapsed.job_id
CROSS JOIN leases ON leases.job_id = lapsed.job_id

-- name: load_held
-- What workers hold.
-- row: ?
SELECT {job}, {lease}
FROM leases CROSS JOIN jobs ON jobs.id = leases.job_id
WHERE leases.worker_id IN ({rows})
