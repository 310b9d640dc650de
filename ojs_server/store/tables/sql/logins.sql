-- name: insert_logins
-- New logins.
-- row: Login
INSERT INTO logins ({columns})
{rows}

-- name: delete_login
-- Forget a login.
DELETE FROM logins WHERE token_hash = :token_hash

-- name: prune_logins
-- Logins that have expired.
DELETE FROM logins WHERE token_hash IN (
    SELECT token_hash FROM logins
    WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit
    FOR UPDATE SKIP LOCKED
)

-- name: login
-- The login with a token.
-- returns: Login
SELECT {Login} FROM logins
WHERE token_hash = :token_hash AND expires_at > :now
