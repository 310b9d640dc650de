-- name: load_maintenance
-- Load the maintenance that is on.
-- returns: Maintenance
SELECT since, reason, until FROM maintenance

-- name: end_maintenance
-- End the maintenance.
-- changes: maintenance
DELETE FROM maintenance

-- name: begin_maintenance
-- Begin a maintenance, or change that one.
-- changes: maintenance
INSERT INTO maintenance (one, reason, since, until)
VALUES (1, :reason, :since, :until)
ON CONFLICT (one) DO UPDATE SET
    reason = excluded.reason, since = excluded.since, until = excluded.until
