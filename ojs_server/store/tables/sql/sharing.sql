-- fragment: first_of_lane
-- In the order in which a queue hands out.
ORDER BY priority DESC, seq LIMIT :limit

-- name: tenants_of
-- Whose jobs are.
-- row: id text
SELECT id, tenant FROM jobs WHERE id IN ({list})

-- name: tenant_configs
-- The tenants that were configured.
SELECT name, {json:config}, created_at, updated_at FROM tenants ORDER BY name

-- name: save_tenant
-- Configure a tenant, seen or not.
INSERT INTO tenants (name, config, created_at, updated_at)
VALUES (:name, :config, :now, :now)
ON CONFLICT (name) DO UPDATE SET config = excluded.config, updated_at = excluded.updated_at

-- name: delete_tenant
-- Forget what was set for a tenant.
DELETE FROM tenants WHERE name = :name

-- name: pool_configs
-- The pools.
SELECT name, {json:config}, created_at, updated_at FROM pools ORDER BY name

-- name: save_pool
-- Make or change a pool.
INSERT INTO pools (name, config, created_at, updated_at)
VALUES (:name, :config, :now, :now)
ON CONFLICT (name) DO UPDATE SET config = excluded.config, updated_at = excluded.updated_at

-- name: delete_pool
-- Forget a pool.
DELETE FROM pools WHERE name = :name

-- name: available_types
-- The types of the available jobs of queues: from one entry of the index to the next other one.
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
-- The queues and types in which available jobs of tenants are.
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
-- Those of these types of which a tenant has available jobs in the queue beside it.
-- row: queue text, type text, tenant text
SELECT wanted.type FROM ({rows}) AS wanted
WHERE EXISTS (
    SELECT 1 FROM jobs WHERE state = 'available' AND gated = false AND jobs.queue = wanted.queue
        AND jobs.type = wanted.type AND jobs.tenant = wanted.tenant
)
