-- Tenants of subscriptions and deliveries.

ALTER TABLE webhooks ADD COLUMN tenant TEXT;
-- A delivery is its tenant's also when its subscription is gone.
ALTER TABLE deliveries ADD COLUMN tenant TEXT;
-- A tenant's list, newest first.
CREATE INDEX deliveries_tenant ON deliveries (tenant, created_at, id) WHERE tenant IS NOT NULL;
