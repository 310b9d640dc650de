-- Tenants of jobs, their limits, and pools of queues.
-- A job without a tenant is in none of these indexes and pays nothing for them.

ALTER TABLE jobs ADD COLUMN tenant TEXT;

-- The jobs of each tenant in each queue, in the order in which they are handed out.
CREATE INDEX jobs_tenant_claim ON jobs (queue, tenant, priority DESC, seq)
    WHERE state = 'available' AND gated = 0 AND tenant IS NOT NULL;
-- For fetches that name job types.
CREATE INDEX jobs_tenant_claim_type ON jobs (queue, type, tenant, priority DESC, seq)
    WHERE state = 'available' AND gated = 0 AND tenant IS NOT NULL;
-- A tenant's lists, newest first.
CREATE INDEX jobs_tenant ON jobs (tenant, id) WHERE tenant IS NOT NULL;
CREATE INDEX jobs_tenant_dead ON jobs (tenant, finished_at, id)
    WHERE state = 'discarded' AND tenant IS NOT NULL;

CREATE TABLE tenants (
    name TEXT NOT NULL PRIMARY KEY,
    config TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pools (
    name TEXT NOT NULL PRIMARY KEY,
    config TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
