-- name: insert_webhooks
-- Store new subscriptions.
-- changes: webhooks
-- row: Webhook
INSERT INTO webhooks ({columns})
{rows}

-- name: insert_deliveries
-- Store new deliveries.
-- changes: deliveries
-- row: Delivery
INSERT INTO deliveries ({columns})
{rows}

-- name: list_webhooks
-- List all subscriptions, newest first.
-- returns: Webhook
SELECT {Webhook} FROM webhooks ORDER BY created_at DESC, id

-- name: deliveries
-- List deliveries, newest first.
-- returns: Delivery
SELECT {Delivery} FROM deliveries WHERE {newest_deliveries}

-- name: deliveries_of_webhook
-- List the deliveries of a subscription, newest first.
-- returns: Delivery
SELECT {Delivery} FROM deliveries WHERE {of_webhook} AND {newest_deliveries}

-- name: deliveries_of_tenant
-- List the deliveries of a tenant, newest first.
-- returns: Delivery
SELECT {Delivery} FROM deliveries WHERE {of_tenant} AND {newest_deliveries}

-- name: update_webhooks
-- Store subscriptions that this transaction has locked.
-- changes: webhooks
-- row: Webhook
UPDATE webhooks SET
    url = changed.url, wish = changed.wish, active = changed.active, secret = changed.secret,
    old_secret = changed.old_secret, old_until = changed.old_until, cursor = changed.cursor,
    updated_at = changed.updated_at
FROM ({rows}) AS changed
WHERE webhooks.id = changed.id

-- name: update_deliveries
-- Store deliveries that this transaction has locked.
-- changes: deliveries
-- row: Delivery(id, status, attempt, due_at, finished_at, answer, error, took_ms)
UPDATE deliveries SET
    status = changed.status, attempt = changed.attempt, due_at = changed.due_at,
    finished_at = changed.finished_at, answer = changed.answer, error = changed.error,
    took_ms = changed.took_ms
FROM ({rows}) AS changed
WHERE deliveries.id = changed.id

-- name: prune_deliveries
-- Remove deliveries that ended before a moment.
-- changes: deliveries
DELETE FROM deliveries WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM deliveries WHERE finished_at < :before
    LIMIT :limit FOR UPDATE SKIP LOCKED
))

-- name: count_webhooks
-- Count subscriptions.
SELECT count(*) FROM webhooks WHERE :tenant IS NULL OR tenant = :tenant

-- name: load_webhooks
-- Lock subscriptions by id.
-- row: id text
-- returns: Webhook
SELECT {Webhook} FROM webhooks WHERE id IN ({list}) ORDER BY id FOR UPDATE

-- name: delete_webhooks
-- Delete subscriptions.
-- changes: webhooks
-- row: id text
DELETE FROM webhooks WHERE id IN ({list})

-- name: load_deliveries
-- Lock deliveries by id.
-- row: id text
-- returns: Delivery
SELECT {Delivery} FROM deliveries WHERE id IN ({list}) ORDER BY id FOR UPDATE

-- name: load_due_deliveries
-- Lock the due deliveries of a subscription, except those that another node has locked.
-- returns: Delivery
SELECT {Delivery} FROM deliveries
WHERE webhook_id = :webhook_id AND due_at <= :now
ORDER BY due_at, event_id LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: some_webhooks
-- Load subscriptions by id, newest first.
-- row: id text
-- returns: Webhook
SELECT {Webhook} FROM webhooks WHERE id IN ({list}) ORDER BY created_at DESC, id

-- name: webhook_loads
-- Load each active subscription, with the due time of its next delivery and the number that wait.
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
-- Load deliveries by id.
-- row: id text
-- returns: Delivery
SELECT {Delivery} FROM deliveries WHERE id IN ({list})

-- fragment: newest_deliveries
-- The order of a page, newest first, from a position on.
(created_at, id) < (:moment, :after)
ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset

-- fragment: of_webhook
-- True for deliveries of a subscription, and of a status if one is given.
webhook_id = :webhook_id
    AND (:status IS NULL OR status = :status)

-- fragment: of_tenant
-- True for deliveries of a tenant, and of a subscription or a status if one is given.
tenant = :tenant AND (:webhook_id IS NULL OR webhook_id = :webhook_id)
    AND (:status IS NULL OR status = :status)

-- name: deliveries_of_status
-- List the deliveries of a status, newest first.
-- returns: Delivery
SELECT {Delivery} FROM deliveries
WHERE status = :status AND {newest_deliveries}

-- name: count_deliveries
-- Count deliveries, up to a limit.
SELECT count(*) FROM (SELECT 1 FROM deliveries LIMIT :most) AS found

-- name: count_deliveries_of_webhook
-- Count the deliveries of a subscription, up to a limit.
SELECT count(*) FROM (
    SELECT 1 FROM deliveries WHERE {of_webhook} LIMIT :most
) AS found

-- name: count_deliveries_of_status
-- Count the deliveries of a status, up to a limit.
SELECT count(*) FROM (
    SELECT 1 FROM deliveries WHERE status = :status LIMIT :most
) AS found

-- name: count_deliveries_of_tenant
-- Count the deliveries of a tenant, up to a limit.
SELECT count(*) FROM (
    SELECT 1 FROM deliveries WHERE {of_tenant} LIMIT :most
) AS found
