-- fragment: waits
-- A job of a lane that a claim may take.
state = 'available' AND gated = 0 AND queue = :queue
    AND (expires_at IS NULL OR expires_at > :now)
    AND NOT EXISTS (SELECT 1 FROM queues WHERE name = :queue AND paused)

-- fragment: candidate
-- The columns by which a job is chosen.
id, queue, tenant, priority, seq, demand

-- name: tenants_waiting
-- The tenants after a name that have jobs in a queue, in the order of names.
WITH RECURSIVE shares (tenant) AS (
    SELECT min(tenant) FROM jobs
    WHERE state = 'available' AND gated = 0 AND tenant IS NOT NULL
        AND queue = :queue AND tenant > :after
    UNION ALL
    SELECT (
        SELECT min(later.tenant) FROM jobs AS later
        WHERE later.state = 'available' AND later.gated = 0 AND later.tenant IS NOT NULL
            AND later.queue = :queue AND later.tenant > shares.tenant
    )
    FROM shares WHERE shares.tenant IS NOT NULL
    LIMIT :limit
)
SELECT tenant FROM shares WHERE tenant IS NOT NULL

-- name: type_from
-- The first type from one on that has jobs in a queue, with the place of the first of them.
SELECT type, priority, seq FROM jobs
WHERE state = 'available' AND gated = 0 AND queue = :queue AND type >= :type
    AND NOT EXISTS (SELECT 1 FROM queues WHERE name = :queue AND paused)
ORDER BY type, priority DESC, seq LIMIT 1

-- name: waiting
-- The first of a queue.
-- returns: Candidate
SELECT {candidate} FROM jobs WHERE {waits} {first_of_lane}

-- name: waiting_of_type
-- Find the first available jobs of a queue and a type.
-- returns: Candidate
SELECT {candidate} FROM jobs WHERE {waits} AND type = :type {first_of_lane}

-- name: waiting_of_tenant
-- Find the first available jobs of a queue and a tenant.
-- returns: Candidate
SELECT {candidate} FROM jobs WHERE {waits} AND tenant = :tenant {first_of_lane}

-- name: waiting_of_tenant_and_type
-- Find the first available jobs of a queue, a tenant and a type.
-- returns: Candidate
SELECT {candidate} FROM jobs
WHERE {waits} AND tenant = :tenant AND type = :type {first_of_lane}

-- name: claim_chosen
-- Hand out those of these jobs that are still available.
-- changes: jobs
-- row: id text
-- returns: Claimed
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
WHERE state = 'available' AND id IN ({list})
RETURNING {Claimed}

-- name: waits
-- Return the mean time that the running jobs of each queue have waited.
SELECT jobs.queue, CAST(avg(jobs.started_at - COALESCE(jobs.enqueued_at, jobs.created_at)) AS INTEGER)
FROM leases JOIN jobs ON jobs.id = leases.job_id GROUP BY jobs.queue
