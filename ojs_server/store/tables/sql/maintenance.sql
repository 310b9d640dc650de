-- name: load_maintenance
-- The maintenance that is on.
-- returns: Maintenance
SELECT since, reason, until FROM maintenance

-- name: end_maintenance
-- It is over.
DELETE FROM maintenance
