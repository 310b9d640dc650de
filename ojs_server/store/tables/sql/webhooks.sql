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
