-- differs: all lanes are read in one round trip, by lateral joins, which SQLite lacks.

-- fragment: waits
-- A job of a lane that a claim may take.
state = 'available' AND NOT gated AND queue = lane.queue AND {not_later}
    AND (expires_at IS NULL OR expires_at > :now)
    AND NOT (SELECT COALESCE(bool_or(paused), false) FROM queues WHERE name = lane.queue)

-- fragment: candidate
-- The columns by which a job is chosen.
job.id, job.queue, job.tenant, job.priority, job.seq, job.demand

-- name: next_types
-- The wanted types, which are sorted, that have jobs in a queue, in the order of their first jobs.
-- From each type that is found the index is entered again at the next one that is wanted, so that
-- neither many wanted types nor many others are all looked at.
WITH RECURSIVE found (lane, queue, type, priority, seq) AS (
    SELECT wanted.lane, wanted.queue, head.type, head.priority, head.seq
    FROM unnest(:queues) WITH ORDINALITY AS wanted (queue, lane)
    CROSS JOIN LATERAL (
        SELECT type, priority, seq FROM jobs
        WHERE state = 'available' AND NOT gated AND queue = wanted.queue
            AND type >= (:types)[1]
        ORDER BY type, priority DESC, seq LIMIT 1
    ) AS head
    WHERE NOT (SELECT COALESCE(bool_or(paused), false) FROM queues WHERE name = wanted.queue)
    UNION ALL
    SELECT found.lane, found.queue, head.type, head.priority, head.seq
    FROM found CROSS JOIN LATERAL (
        SELECT type, priority, seq FROM jobs
        WHERE state = 'available' AND NOT gated AND queue = found.queue
            AND type >= (:types)[width_bucket(found.type, :types) + 1]
        ORDER BY type, priority DESC, seq LIMIT 1
    ) AS head
)
SELECT queue, type FROM (
    SELECT
        lane, queue, type,
        row_number() OVER (PARTITION BY lane ORDER BY priority DESC, seq) AS place
    FROM found WHERE type = ANY (:types)
) AS ranked
WHERE place <= :most
ORDER BY lane, place

-- name: tenants_waiting
-- The tenants after a name that have jobs in a queue, in the order of names.
WITH RECURSIVE shares (queue, tenant, place) AS (
    SELECT wanted.queue, first.tenant, 1
    FROM unnest(:queues, :after::text[]) AS wanted (queue, after)
    CROSS JOIN LATERAL (
        SELECT tenant FROM jobs
        WHERE state = 'available' AND NOT gated AND tenant IS NOT NULL
            AND queue = wanted.queue AND tenant > wanted.after
        ORDER BY tenant LIMIT 1
    ) AS first
    UNION ALL
    SELECT shares.queue, later.tenant, shares.place + 1
    FROM shares CROSS JOIN LATERAL (
        SELECT tenant FROM jobs
        WHERE state = 'available' AND NOT gated AND tenant IS NOT NULL
            AND queue = shares.queue AND tenant > shares.tenant
        ORDER BY tenant LIMIT 1
    ) AS later
    WHERE shares.place < :limit
)
SELECT queue, tenant FROM shares

-- name: waiting
-- The first of queues.
-- returns: Candidate
SELECT {candidate}
FROM unnest(:queues) AS lane (queue) CROSS JOIN LATERAL (
    SELECT * FROM jobs WHERE {waits} {first_of_lane}
) AS job

-- name: waiting_of_type
-- Find the first available jobs of a queue and a type.
-- returns: Candidate
SELECT {candidate}
FROM unnest(:queues, :types) AS lane (queue, type) CROSS JOIN LATERAL (
    SELECT * FROM jobs WHERE {waits} AND type = lane.type {first_of_lane}
) AS job

-- name: waiting_of_tenant
-- Find the first available jobs of a queue and a tenant.
-- returns: Candidate
SELECT {candidate}
FROM unnest(:queues, :tenants) AS lane (queue, tenant) CROSS JOIN LATERAL (
    SELECT * FROM jobs WHERE {waits} AND tenant = lane.tenant {first_of_lane}
) AS job

-- name: waiting_of_tenant_and_type
-- Find the first available jobs of a queue, a tenant and a type.
-- returns: Candidate
SELECT {candidate}
FROM unnest(:queues, :tenants, :types)
    AS lane (queue, tenant, type)
CROSS JOIN LATERAL (
    SELECT * FROM jobs
    WHERE {waits} AND tenant = lane.tenant AND type = lane.type {first_of_lane}
) AS job

-- name: claim_chosen
-- Hand out those of these jobs that are still available and that no other node is busy with.
-- differs: jobs are locked in order first.
-- changes: jobs
-- returns: Claimed
WITH picked AS MATERIALIZED (
    SELECT id FROM jobs WHERE id = ANY (:ids) AND state = 'available'
    ORDER BY id FOR UPDATE SKIP LOCKED
)
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
FROM picked WHERE jobs.id = picked.id
RETURNING {Claimed}

-- name: waits
-- Return the mean time that the running jobs of each queue have waited.
-- differs: OFFSET keeps the planner from starting with the jobs, as it may while the tables are
--     empty.
SELECT running.queue, avg(running.waited)::int8
FROM leases CROSS JOIN LATERAL (
    SELECT queue, started_at - COALESCE(enqueued_at, created_at) AS waited
    FROM jobs WHERE id = leases.job_id OFFSET 0
) AS running
GROUP BY running.queue
