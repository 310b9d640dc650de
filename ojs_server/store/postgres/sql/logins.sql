-- name: delete_login
-- Forget a login.
DELETE FROM logins WHERE token_hash = %(token_hash)s::text

-- name: prune_logins
-- Logins that have expired.
DELETE FROM logins WHERE token_hash IN (
    SELECT token_hash FROM logins
    WHERE expires_at <= %(now)s::int8 ORDER BY expires_at LIMIT %(limit)s::int8
    FOR UPDATE SKIP LOCKED
)

-- name: login
-- The login with a token.
-- returns: Login
SELECT {Login} FROM logins
WHERE token_hash = %(token_hash)s::text AND expires_at > %(now)s::int8
