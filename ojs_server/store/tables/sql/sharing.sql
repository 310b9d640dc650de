-- fragment: first_of_lane
-- The order in which a queue hands out its jobs.
ORDER BY priority DESC, seq LIMIT :limit

-- name: tenants_of
-- Load the tenants of jobs.
-- row: id text
SELECT id, tenant FROM jobs WHERE id IN ({list})

-- name: tenant_configs
-- Load the configured tenants.
SELECT name, {json:config}, created_at, updated_at FROM tenants ORDER BY name

-- name: save_tenant
-- Configure a tenant, known or not.
-- changes: tenants
INSERT INTO tenants (name, config, created_at, updated_at)
VALUES (:name, :config, :now, :now)
ON CONFLICT (name) DO UPDATE SET config = excluded.config, updated_at = excluded.updated_at

-- name: delete_tenant
-- Delete the configuration of a tenant.
-- changes: tenants
DELETE FROM tenants WHERE name = :name

-- name: pool_configs
-- Load the pools.
SELECT name, {json:config}, created_at, updated_at FROM pools ORDER BY name

-- name: save_pool
-- Make or change a pool.
-- changes: pools
INSERT INTO pools (name, config, created_at, updated_at)
VALUES (:name, :config, :now, :now)
ON CONFLICT (name) DO UPDATE SET config = excluded.config, updated_at = excluded.updated_at

-- name: delete_pool
-- Delete a pool.
-- changes: pools
DELETE FROM pools WHERE name = :name

-- name: available_types
-- List the distinct types of the available jobs of queues. Each step enters the index at the next
-- other type.
-- row: queue text
WITH RECURSIVE steps (queue, type) AS (
    SELECT wanted.queue, (
        SELECT min(first.type) FROM jobs AS first
        WHERE first.state = 'available' AND first.gated = false AND first.queue = wanted.queue
    )
    FROM ({rows}) AS wanted
    UNION ALL
    SELECT steps.queue, (
        SELECT min(next.type) FROM jobs AS next
        WHERE next.state = 'available' AND next.gated = false AND next.queue = steps.queue
            AND next.type > steps.type
    )
    FROM steps WHERE steps.type IS NOT NULL
)
SELECT type FROM steps WHERE type IS NOT NULL LIMIT 1000

-- name: types_of_tenants
-- List the queues and types with available jobs of tenants.
-- row: queue text
WITH RECURSIVE steps (queue, type) AS (
    SELECT wanted.queue, (
        SELECT min(first.type) FROM jobs AS first
        WHERE first.state = 'available' AND first.gated = false AND first.tenant IS NOT NULL
            AND first.queue = wanted.queue
    )
    FROM ({rows}) AS wanted
    UNION ALL
    SELECT steps.queue, (
        SELECT min(next.type) FROM jobs AS next
        WHERE next.state = 'available' AND next.gated = false AND next.tenant IS NOT NULL
            AND next.queue = steps.queue
            AND next.type > steps.type
    )
    FROM steps WHERE steps.type IS NOT NULL
)
SELECT queue, type FROM steps WHERE type IS NOT NULL LIMIT 1000

-- name: types_of_tenant
-- Return those of these types of which a tenant has available jobs in the queue.
-- row: queue text, type text, tenant text
SELECT wanted.type FROM ({rows}) AS wanted
WHERE EXISTS (
    SELECT 1 FROM jobs WHERE state = 'available' AND gated = false AND jobs.queue = wanted.queue
        AND jobs.type = wanted.type AND jobs.tenant = wanted.tenant
)

-- name: tenants_seen
-- List the tenants that ever had jobs, by the counters of all their queues.
SELECT DISTINCT substr(queue, 1, length(queue) - 1) FROM queue_counts
WHERE substr(queue, length(queue), 1) = '/' ORDER BY 1

-- name: count_queues
-- Count the queues in which tenants ever had jobs, by the names of their counters.
-- row: tenant text
SELECT wanted.tenant, (
    SELECT count(DISTINCT queue) FROM queue_counts
    WHERE queue > wanted.tenant || '/' AND queue < wanted.tenant || '0'
)
FROM ({rows}) AS wanted

-- name: tenancy
-- Return whether there ever was a tenant, with jobs or configured.
SELECT EXISTS (SELECT 1 FROM tenants)
    OR EXISTS (SELECT 1 FROM queue_counts WHERE substr(queue, length(queue), 1) = '/')
