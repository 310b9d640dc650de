-- name: load_maintenance
-- The maintenance that is on.
-- returns: Maintenance
SELECT since, reason, until FROM maintenance

-- name: end_maintenance
-- It is over.
DELETE FROM maintenance

-- name: begin_maintenance
-- It is on from here; or its reason has changed.
INSERT INTO maintenance (one, reason, since, until)
VALUES (1, :reason, :since, :until)
ON CONFLICT (one) DO UPDATE SET
    reason = excluded.reason, since = excluded.since, until = excluded.until
