-- name: cancel_deliveries
-- Cancel the open deliveries of a subscription.
-- changes: deliveries
UPDATE deliveries SET status = 'cancelled', due_at = NULL, finished_at = :now
WHERE webhook_id = :webhook_id AND due_at IS NOT NULL
