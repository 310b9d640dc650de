-- name: cancel_deliveries
-- Cancel the open deliveries of a subscription.
-- changes: deliveries
WITH waiting AS (
    SELECT id FROM deliveries
    WHERE webhook_id = :webhook_id AND due_at IS NOT NULL ORDER BY id FOR UPDATE
)
UPDATE deliveries SET status = 'cancelled', due_at = NULL, finished_at = :now
FROM waiting WHERE deliveries.id = waiting.id AND deliveries.due_at IS NOT NULL

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
