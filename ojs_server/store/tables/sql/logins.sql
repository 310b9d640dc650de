-- name: insert_logins
-- Store new logins.
-- changes: logins
-- row: Login
INSERT INTO logins ({columns})
{rows}

-- name: delete_login
-- Delete a login.
-- changes: logins
DELETE FROM logins WHERE token_hash = :token_hash

-- name: prune_logins
-- Remove expired logins.
-- changes: logins
DELETE FROM logins WHERE token_hash = ANY (ARRAY(
    SELECT token_hash FROM logins
    WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit
    FOR UPDATE SKIP LOCKED
))

-- name: login
-- Load the login with a token, unless it has expired.
-- returns: Login
SELECT {Login} FROM logins
WHERE token_hash = :token_hash AND expires_at > :now
