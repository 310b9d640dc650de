-- name: cancel_deliveries
-- Cancel the open deliveries of a subscription.
-- differs: rows are locked in order first.
-- changes: deliveries
WITH waiting AS (
    SELECT id FROM deliveries
    WHERE webhook_id = :webhook_id AND due_at IS NOT NULL ORDER BY id FOR UPDATE
)
UPDATE deliveries SET status = 'cancelled', due_at = NULL, finished_at = :now
FROM waiting WHERE deliveries.id = waiting.id AND deliveries.due_at IS NOT NULL
