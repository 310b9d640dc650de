-- name: insert_actions
-- Store actions of people.
-- changes: actions
-- row: Action
INSERT INTO actions ({columns})
{rows}

-- name: prune_actions
-- Remove actions that were taken before a moment.
-- changes: actions
DELETE FROM actions WHERE pos = ANY (ARRAY(
    SELECT pos FROM actions
    WHERE at < :before ORDER BY at LIMIT :limit
    FOR UPDATE SKIP LOCKED
))

-- name: list_actions
-- Filter the newest actions below a position, among `looked_at` of them.
-- returns: Action
SELECT {Action} FROM (
    SELECT * FROM actions WHERE pos < :below
    ORDER BY pos DESC LIMIT :looked_at
) AS actions
WHERE (:name IS NULL OR actions.name = :name)
    AND (:call IS NULL OR actions.call = :call)
    AND (:target IS NULL OR actions.target = :target)
    AND (:since IS NULL OR actions.at >= :since)
    AND (:until IS NULL OR actions.at < :until)
ORDER BY pos DESC LIMIT :limit
