-- name: insert_actions
-- What people have done.
-- row: Action
INSERT INTO actions ({columns})
{rows}
