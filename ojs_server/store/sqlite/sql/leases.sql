-- name: drop_leases
-- The hold is over.
-- changes: leases
-- row: job_id text
DELETE FROM leases WHERE job_id IN ({list})

-- name: load_lapsed
-- Leases whose time is over, as far as the store was reachable to hear from their holders.
-- returns: Held
SELECT {Held}
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
-- Load the jobs that workers hold.
-- row: worker_id text
-- returns: Held
SELECT {Held}
FROM leases CROSS JOIN jobs ON jobs.id = leases.job_id
WHERE leases.worker_id IN ({list})

-- name: extend_leases
-- New ends.
-- changes: leases
-- row: Lease(job_id, expires_at)
UPDATE leases SET expires_at = extension.expires_at
FROM ({rows}) AS extension
WHERE leases.job_id = extension.job_id
