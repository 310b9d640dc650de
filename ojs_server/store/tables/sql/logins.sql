-- name: insert_logins
-- New logins.
-- row: Login
INSERT INTO logins ({columns})
{rows}
