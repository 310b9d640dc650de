-- Tenants of workflows.

ALTER TABLE workflows ADD COLUMN tenant TEXT;
-- A tenant's list, newest first.
CREATE INDEX workflows_tenant ON workflows (tenant, created_at, id) WHERE tenant IS NOT NULL;
