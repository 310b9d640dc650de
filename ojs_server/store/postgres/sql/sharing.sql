-- fragment: waits
-- A job of a lane that a claim may take.
state = 'available' AND NOT gated AND queue = lane.queue
    AND (expires_at IS NULL OR expires_at > %(now)s::int8)
    AND NOT (SELECT COALESCE(bool_or(paused), false) FROM queues WHERE name = lane.queue)

-- fragment: candidate
-- What is chosen by.
job.id, job.queue, job.tenant, job.priority, job.seq, job.demand

-- fragment: first_of_lane
-- In the order in which a queue hands out.
ORDER BY priority DESC, seq LIMIT %(limit)s::int8

-- name: next_types
-- The wanted types, which are sorted, that have jobs in a queue, in the order of their first jobs.
-- From each type that is found the index is entered again at the next one that is wanted, so that
-- neither many wanted types nor many others are all looked at.
WITH RECURSIVE found (lane, queue, type, priority, seq) AS (
    SELECT wanted.lane, wanted.queue, head.type, head.priority, head.seq
    FROM unnest(%(queues)s::text[]) WITH ORDINALITY AS wanted (queue, lane)
    CROSS JOIN LATERAL (
        SELECT type, priority, seq FROM jobs
        WHERE state = 'available' AND NOT gated AND queue = wanted.queue
            AND type >= (%(types)s::text[])[1]
        ORDER BY type, priority DESC, seq LIMIT 1
    ) AS head
    WHERE NOT (SELECT COALESCE(bool_or(paused), false) FROM queues WHERE name = wanted.queue)
    UNION ALL
    SELECT found.lane, found.queue, head.type, head.priority, head.seq
    FROM found CROSS JOIN LATERAL (
        SELECT type, priority, seq FROM jobs
        WHERE state = 'available' AND NOT gated AND queue = found.queue
            AND type >= (%(types)s::text[])[width_bucket(found.type, %(types)s::text[]) + 1]
        ORDER BY type, priority DESC, seq LIMIT 1
    ) AS head
)
SELECT queue, type FROM (
    SELECT
        lane, queue, type,
        row_number() OVER (PARTITION BY lane ORDER BY priority DESC, seq) AS place
    FROM found WHERE type = ANY (%(types)s::text[])
) AS ranked
WHERE place <= %(most)s::int8
ORDER BY lane, place

-- name: tenants_waiting
-- The tenants after a name that have jobs in a queue, in the order of names.
WITH RECURSIVE shares (queue, tenant, place) AS (
    SELECT wanted.queue, first.tenant, 1
    FROM unnest(%(queues)s::text[], %(after)s::text[]) AS wanted (queue, after)
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
    WHERE shares.place < %(limit)s::int8
)
SELECT queue, tenant FROM shares

-- name: waiting
-- The first of queues.
-- returns: Candidate
SELECT {candidate}
FROM unnest(%(queues)s::text[]) AS lane (queue) CROSS JOIN LATERAL (
    SELECT * FROM jobs WHERE {waits} {first_of_lane}
) AS job

-- name: waiting_of_type
-- The same of one type each.
-- returns: Candidate
SELECT {candidate}
FROM unnest(%(queues)s::text[], %(types)s::text[]) AS lane (queue, type) CROSS JOIN LATERAL (
    SELECT * FROM jobs WHERE {waits} AND type = lane.type {first_of_lane}
) AS job

-- name: waiting_of_tenant
-- The same of one tenant each.
-- returns: Candidate
SELECT {candidate}
FROM unnest(%(queues)s::text[], %(tenants)s::text[]) AS lane (queue, tenant) CROSS JOIN LATERAL (
    SELECT * FROM jobs WHERE {waits} AND tenant = lane.tenant {first_of_lane}
) AS job

-- name: waiting_of_tenant_and_type
-- The same of one tenant and type each.
-- returns: Candidate
SELECT {candidate}
FROM unnest(%(queues)s::text[], %(tenants)s::text[], %(types)s::text[])
    AS lane (queue, tenant, type)
CROSS JOIN LATERAL (
    SELECT * FROM jobs
    WHERE {waits} AND tenant = lane.tenant AND type = lane.type {first_of_lane}
) AS job

-- name: claim_chosen
-- Hand out those of these jobs that are still available and that no other node is busy with.
-- returns: Claimed
WITH picked AS MATERIALIZED (
    SELECT id FROM jobs WHERE id = ANY (%(ids)s::text[]) AND state = 'available'
    ORDER BY id FOR UPDATE SKIP LOCKED
)
UPDATE jobs
SET state = 'active', attempt = attempt + 1, {taken}
FROM picked WHERE jobs.id = picked.id
RETURNING {Claimed}

-- name: tenants_of
-- Whose jobs are.
-- row: id text
SELECT id, tenant FROM jobs WHERE id = ANY ({list})

-- name: tenants_seen
-- The tenants that ever had jobs, by the counters of all their queues.
SELECT DISTINCT left(queue, -1) FROM queue_counts WHERE right(queue, 1) = '/' ORDER BY 1

-- name: tenancy
-- Whether any had, or was configured.
SELECT EXISTS (SELECT FROM tenants)
    OR EXISTS (SELECT FROM queue_counts WHERE right(queue, 1) = '/')

-- name: tenant_configs
-- The tenants that were configured.
SELECT name, config, created_at, updated_at FROM tenants ORDER BY name

-- name: save_tenant
-- Configure a tenant, seen or not.
INSERT INTO tenants (name, config, created_at, updated_at)
VALUES (%(name)s::text, %(config)s::bytea, %(now)s::int8, %(now)s::int8)
ON CONFLICT (name) DO UPDATE SET config = excluded.config, updated_at = excluded.updated_at

-- name: delete_tenant
-- Forget what was set for a tenant.
DELETE FROM tenants WHERE name = %(name)s::text

-- name: pool_configs
-- The pools.
SELECT name, config, created_at, updated_at FROM pools ORDER BY name

-- name: save_pool
-- Make or change a pool.
INSERT INTO pools (name, config, created_at, updated_at)
VALUES (%(name)s::text, %(config)s::bytea, %(now)s::int8, %(now)s::int8)
ON CONFLICT (name) DO UPDATE SET config = excluded.config, updated_at = excluded.updated_at

-- name: delete_pool
-- Forget a pool.
DELETE FROM pools WHERE name = %(name)s::text

-- name: waits
-- How long the jobs that run now had waited in their queues. OFFSET keeps the planner from
-- beginning with the jobs, as it may while the tables are empty.
SELECT running.queue, avg(running.waited)::int8
FROM leases CROSS JOIN LATERAL (
    SELECT queue, started_at - COALESCE(enqueued_at, created_at) AS waited
    FROM jobs WHERE id = leases.job_id OFFSET 0
) AS running
GROUP BY running.queue

-- name: available_types
-- The types of the available jobs of queues: from one entry of the index to the next other one.
-- row: queue text
WITH RECURSIVE steps (queue, type) AS (
    SELECT wanted.queue, (
        SELECT min(first.type) FROM jobs AS first
        WHERE first.state = 'available' AND NOT first.gated AND first.queue = wanted.queue
    )
    FROM ({rows}) AS wanted
    UNION ALL
    SELECT steps.queue, (
        SELECT min(next.type) FROM jobs AS next
        WHERE next.state = 'available' AND NOT next.gated AND next.queue = steps.queue
            AND next.type > steps.type
    )
    FROM steps WHERE steps.type IS NOT NULL
)
SELECT type FROM steps WHERE type IS NOT NULL LIMIT 1000

-- name: types_of_tenants
-- The queues and types in which available jobs of tenants are.
-- row: queue text
WITH RECURSIVE steps (queue, type) AS (
    SELECT wanted.queue, (
        SELECT min(first.type) FROM jobs AS first
        WHERE first.state = 'available' AND NOT first.gated AND first.tenant IS NOT NULL AND first.queue = wanted.queue
    )
    FROM ({rows}) AS wanted
    UNION ALL
    SELECT steps.queue, (
        SELECT min(next.type) FROM jobs AS next
        WHERE next.state = 'available' AND NOT next.gated AND next.tenant IS NOT NULL AND next.queue = steps.queue
            AND next.type > steps.type
    )
    FROM steps WHERE steps.type IS NOT NULL
)
SELECT queue, type FROM steps WHERE type IS NOT NULL LIMIT 1000

-- name: types_of_tenant
-- Those of these types of which a tenant has available jobs in the queue beside it.
-- row: queue text, type text, tenant text
SELECT wanted.type FROM ({rows}) AS wanted
WHERE EXISTS (
    SELECT 1 FROM jobs WHERE state = 'available' AND NOT gated AND jobs.queue = wanted.queue
        AND jobs.type = wanted.type AND jobs.tenant = wanted.tenant
)
