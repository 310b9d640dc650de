-- name: count_webhooks
-- How many there are.
SELECT count(*) FROM webhooks WHERE %(tenant)s::text IS NULL OR tenant = %(tenant)s::text

-- name: load_webhooks
-- Lock subscriptions by id.
-- row: id text
-- returns: Webhook
SELECT {Webhook} FROM webhooks WHERE id = ANY ({list}) ORDER BY id FOR UPDATE

-- name: delete_webhooks
-- Forget subscriptions.
-- row: id text
DELETE FROM webhooks WHERE id = ANY ({list})

-- name: cancel_deliveries
-- What was on its way to a target.
WITH waiting AS (
    SELECT id FROM deliveries
    WHERE webhook_id = %(webhook_id)s::text AND due_at IS NOT NULL ORDER BY id FOR UPDATE
)
UPDATE deliveries SET status = 'cancelled', due_at = NULL, finished_at = %(now)s::int8
FROM waiting WHERE deliveries.id = waiting.id AND deliveries.due_at IS NOT NULL

-- name: load_deliveries
-- Lock deliveries by id.
-- row: id text
-- returns: Delivery
SELECT {Delivery} FROM deliveries WHERE id = ANY ({list}) ORDER BY id FOR UPDATE

-- name: load_due_deliveries
-- Those of a subscription whose time has come, without those that another node is taking.
-- returns: Delivery
SELECT {Delivery} FROM deliveries
WHERE webhook_id = %(webhook_id)s::text AND due_at <= %(now)s::int8
ORDER BY due_at, event_id LIMIT %(limit)s::int8
FOR UPDATE SKIP LOCKED

-- name: update_deliveries
-- How far deliveries are, which this transaction has locked.
-- row: Delivery(id, status, attempt, due_at, finished_at, answer, error, took_ms)
UPDATE deliveries SET
    status = changed.status, attempt = changed.attempt, due_at = changed.due_at,
    finished_at = changed.finished_at, answer = changed.answer, error = changed.error,
    took_ms = changed.took_ms
FROM ({rows}) AS changed
WHERE deliveries.id = changed.id

-- name: prune_deliveries
-- Those that ended long ago.
DELETE FROM deliveries WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM deliveries WHERE finished_at < %(before)s::int8
    LIMIT %(limit)s::int8 FOR UPDATE SKIP LOCKED
))

-- name: some_webhooks
-- These subscriptions.
-- row: id text
-- returns: Webhook
SELECT {Webhook} FROM webhooks WHERE id = ANY ({list}) ORDER BY created_at DESC, id

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
            WHERE webhook_id = webhooks.id AND due_at IS NOT NULL LIMIT %(most)s::int8
        ) AS waiting
    ) AS waiting
FROM webhooks WHERE active ORDER BY id

-- name: some_deliveries
-- These deliveries.
-- row: id text
-- returns: Delivery
SELECT {Delivery} FROM deliveries WHERE id = ANY ({list})

-- fragment: newest_deliveries
-- A page, newest first, from a place on.
(created_at, id) < (%(moment)s::int8, %(after)s::text)
ORDER BY created_at DESC, id DESC LIMIT %(limit)s::int8 OFFSET %(offset)s::int8

-- fragment: of_webhook
-- Those of a subscription, and of a status where one is given.
webhook_id = %(webhook_id)s::text
    AND (%(status)s::text IS NULL OR status = %(status)s::text)

-- fragment: of_tenant
-- Those of a tenant, and of a subscription or a status where one is given.
tenant = %(tenant)s::text AND (%(webhook_id)s::text IS NULL OR webhook_id = %(webhook_id)s::text)
    AND (%(status)s::text IS NULL OR status = %(status)s::text)

-- name: deliveries_of_status
-- Those of a status.
-- returns: Delivery
SELECT {Delivery} FROM deliveries
WHERE status = %(status)s::text AND {newest_deliveries}

-- name: count_deliveries
-- How many there are, no more than are worth counting.
SELECT count(*) FROM (SELECT 1 FROM deliveries LIMIT %(most)s::int8) AS found

-- name: count_deliveries_of_webhook
-- How many there are of a subscription.
SELECT count(*) FROM (
    SELECT 1 FROM deliveries WHERE {of_webhook} LIMIT %(most)s::int8
) AS found

-- name: count_deliveries_of_status
-- How many there are of a status.
SELECT count(*) FROM (
    SELECT 1 FROM deliveries WHERE status = %(status)s::text LIMIT %(most)s::int8
) AS found

-- name: count_deliveries_of_tenant
-- How many there are of a tenant.
SELECT count(*) FROM (
    SELECT 1 FROM deliveries WHERE {of_tenant} LIMIT %(most)s::int8
) AS found
