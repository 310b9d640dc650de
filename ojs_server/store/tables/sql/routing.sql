-- name: save_routing
-- Set or replace the routing of a type.
-- changes: routings
INSERT INTO routings (type, config) VALUES (:type, :config)
ON CONFLICT (type) DO UPDATE SET config = excluded.config

-- name: delete_routing
-- Delete the routing of a type.
-- changes: routings
DELETE FROM routings WHERE type = :type

-- name: routings
-- Load the routing of every type.
SELECT type, {json:config} FROM routings

-- name: routing_of
-- Load the routing of a type.
SELECT {json:config} FROM routings WHERE type = :type
