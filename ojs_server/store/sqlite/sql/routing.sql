-- name: save_routing
-- Set or replace the routing of a type.
INSERT INTO routings (type, config) VALUES (:type, CAST(:config AS TEXT))
ON CONFLICT (type) DO UPDATE SET config = excluded.config

-- name: delete_routing
-- Forget the routing of a type.
DELETE FROM routings WHERE type = :type

-- name: routings
-- The routing of every type.
SELECT type, CAST(config AS BLOB) FROM routings

-- name: routing_of
-- The routing of a type.
SELECT CAST(config AS BLOB) FROM routings WHERE type = :type
