-- name: drop_leases
-- End leases.
-- differs: rows are locked in order first, as a heartbeat may be at the same leases.
-- changes: leases
-- row: job_id text
WITH ended AS MATERIALIZED (
    SELECT job_id FROM leases WHERE job_id IN ({list}) ORDER BY job_id FOR UPDATE
)
DELETE FROM leases WHERE job_id = ANY (ARRAY(SELECT job_id FROM ended))

-- name: load_lapsed
-- Leases whose time is over, as far as the store was reachable to hear from their holders.
-- differs: rows are locked in order, except those that a heartbeat at another node may be renewing.
-- returns: Held
WITH late AS MATERIALIZED (
    (
        SELECT leases.job_id FROM leases JOIN jobs AS run ON run.id = leases.job_id
        WHERE leases.expires_at >= :from AND leases.expires_at <= :until
            AND {judged}
        ORDER BY leases.expires_at LIMIT :limit
    )
    UNION
    (
        SELECT leases.job_id FROM leases JOIN jobs AS run ON run.id = leases.job_id
        WHERE leases.deadline_at >= :from AND leases.deadline_at <= :until
            AND {judged}
        ORDER BY leases.deadline_at LIMIT :limit
    )
    LIMIT :limit
), jobs AS MATERIALIZED (
    SELECT {Job} FROM jobs
    WHERE id = ANY (ARRAY(SELECT job_id FROM late)) AND state = 'active'
    ORDER BY id FOR UPDATE SKIP LOCKED
)
SELECT {Held}
FROM jobs JOIN leases ON leases.job_id = jobs.id
WHERE leases.expires_at <= :until OR leases.deadline_at <= :until
ORDER BY leases.job_id FOR UPDATE OF leases SKIP LOCKED

-- name: load_held
-- Lock what workers hold: the jobs in order, then the leases in order.
-- differs: rows are locked in order.
-- row: worker_id text
-- returns: Held
WITH jobs AS MATERIALIZED (
    SELECT {Job} FROM jobs
    WHERE id = ANY (ARRAY(SELECT job_id FROM leases WHERE worker_id IN ({list})))
    ORDER BY id FOR UPDATE
)
SELECT {Held}
FROM jobs JOIN leases ON leases.job_id = jobs.id
WHERE leases.worker_id IN ({list})
ORDER BY leases.job_id FOR UPDATE OF leases

-- name: lock_leases
-- Only lock, for a batch that will come back to them.
-- row: job_id text
SELECT 1 FROM leases WHERE job_id IN ({list}) ORDER BY job_id FOR UPDATE

-- name: extend_leases
-- Store the new ends of leases.
-- differs: the list keeps the plan from reading the table whole, which may be taken for small.
-- changes: leases
-- row: Lease(job_id, expires_at)
UPDATE leases SET expires_at = extension.expires_at
FROM ({rows}) AS extension
WHERE leases.job_id = extension.job_id AND leases.job_id = ANY (:job_id::text[])
