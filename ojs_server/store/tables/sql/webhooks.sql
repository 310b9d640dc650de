-- name: insert_webhooks
-- New subscriptions.
-- row: Webhook
INSERT INTO webhooks ({columns})
{rows}

-- name: insert_deliveries
-- New deliveries.
-- row: Delivery
INSERT INTO deliveries ({columns})
{rows}

-- name: list_webhooks
-- All subscriptions, newest first.
-- returns: Webhook
SELECT {Webhook} FROM webhooks ORDER BY created_at DESC, id

-- name: deliveries
-- All of them.
-- returns: Delivery
SELECT {Delivery} FROM deliveries WHERE {newest_deliveries}

-- name: deliveries_of_webhook
-- Those of a subscription.
-- returns: Delivery
SELECT {Delivery} FROM deliveries WHERE {of_webhook} AND {newest_deliveries}

-- name: deliveries_of_tenant
-- Those of a tenant.
-- returns: Delivery
SELECT {Delivery} FROM deliveries WHERE {of_tenant} AND {newest_deliveries}

-- name: update_webhooks
-- Changed subscriptions, which this transaction has locked.
-- row: Webhook
UPDATE webhooks SET
    url = changed.url, wish = changed.wish, active = changed.active, secret = changed.secret,
    old_secret = changed.old_secret, old_until = changed.old_until, cursor = changed.cursor,
    updated_at = changed.updated_at
FROM ({rows}) AS changed
WHERE webhooks.id = changed.id

-- name: count_webhooks
-- How many there are.
SELECT count(*) FROM webhooks WHERE :tenant IS NULL OR tenant = :tenant

-- name: load_webhooks
-- Lock subscriptions by id.
-- row: id text
-- returns: Webhook
SELECT {Webhook} FROM webhooks WHERE id IN ({list}) ORDER BY id FOR UPDATE

-- name: delete_webhooks
-- Forget subscriptions.
-- row: id text
DELETE FROM webhooks WHERE id IN ({list})

-- name: load_deliveries
-- Lock deliveries by id.
-- row: id text
-- returns: Delivery
SELECT {Delivery} FROM deliveries WHERE id IN ({list}) ORDER BY id FOR UPDATE

-- name: load_due_deliveries
-- Those of a subscription whose time has come, without those that another node is taking.
-- returns: Delivery
SELECT {Delivery} FROM deliveries
WHERE webhook_id = :webhook_id AND due_at <= :now
ORDER BY due_at, event_id LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: some_webhooks
-- These subscriptions.
-- row: id text
-- returns: Webhook
SELECT {Webhook} FROM webhooks WHERE id IN ({list}) ORDER BY created_at DESC, id

-- name: webhook_loads
-- What there is to do for each active subscription: its next moment, and how much waits.
-- returns: WebhookLoad
SELECT {Webhook},
    (
        SELECT min(due_at) FROM deliveries
        WHERE webhook_id = webhooks.id AND due_at IS NOT NULL
    ) AS due_at,
    (
        SELECT count(*) FROM (
            SELECT 1 FROM deliveries
            WHERE webhook_id = webhooks.id AND due_at IS NOT NULL LIMIT :most
        ) AS waiting
    ) AS waiting
FROM webhooks WHERE active ORDER BY id

-- name: some_deliveries
-- These deliveries.
-- row: id text
-- returns: Delivery
SELECT {Delivery} FROM deliveries WHERE id IN ({list})

-- fragment: newest_deliveries
-- A page, newest first, from a place on.
(created_at, id) < (:moment, :after)
ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- fragment: of_webhook
-- Those of a subscription, and of a status where one is given.
webhook_id = :webhook_id
    AND (:status IS NULL OR status = :status)

-- fragment: of_tenant
-- Those of a tenant, and of a subscription or a status where one is given.
tenant = :tenant AND (:webhook_id IS NULL OR webhook_id = :webhook_id)
    AND (:status IS NULL OR status = :status)

-- name: deliveries_of_status
-- Those of a status.
-- returns: Delivery
SELECT {Delivery} FROM deliveries
WHERE status = :status AND {newest_deliveries}

-- name: count_deliveries
-- How many there are, no more than are worth counting.
SELECT count(*) FROM (SELECT 1 FROM deliveries LIMIT :most) AS found

-- name: count_deliveries_of_webhook
-- How many there are of a subscription.
SELECT count(*) FROM (
    SELECT 1 FROM deliveries WHERE {of_webhook} LIMIT :most
) AS found

-- name: count_deliveries_of_status
-- How many there are of a status.
SELECT count(*) FROM (
    SELECT 1 FROM deliveries WHERE status = :status LIMIT :most
) AS found

-- name: count_deliveries_of_tenant
-- How many there are of a tenant.
SELECT count(*) FROM (
    SELECT 1 FROM deliveries WHERE {of_tenant} LIMIT :most
) AS found
