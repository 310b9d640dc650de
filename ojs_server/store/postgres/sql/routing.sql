-- name: save_routing
-- Set or replace the routing of a type.
INSERT INTO routings (type, config) VALUES (%(type)s::text, %(config)s::bytea)
ON CONFLICT (type) DO UPDATE SET config = excluded.config

-- name: delete_routing
-- Forget the routing of a type.
DELETE FROM routings WHERE type = %(type)s::text

-- name: routings
-- The routing of every type.
SELECT type, config FROM routings

-- name: routing_of
-- The routing of a type.
SELECT config FROM routings WHERE type = %(type)s::text
