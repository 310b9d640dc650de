-- name: prune_actions
-- What was done long ago.
DELETE FROM actions WHERE pos IN (
    SELECT pos FROM actions
    WHERE at < %(before)s::int8 ORDER BY at LIMIT %(limit)s::int8
    FOR UPDATE SKIP LOCKED
)

-- name: list_actions
-- The newest actions below a position that fit, among so many.
-- returns: Action
SELECT {Action} FROM (
    SELECT * FROM actions WHERE pos < %(below)s::int8
    ORDER BY pos DESC LIMIT %(looked_at)s::int8
) AS actions
WHERE (%(name)s::text IS NULL OR actions.name = %(name)s::text)
    AND (%(call)s::text IS NULL OR actions.call = %(call)s::text)
    AND (%(target)s::text IS NULL OR actions.target = %(target)s::text)
    AND (%(since)s::int8 IS NULL OR actions.at >= %(since)s::int8)
    AND (%(until)s::int8 IS NULL OR actions.at < %(until)s::int8)
ORDER BY pos DESC LIMIT %(limit)s::int8
