-- Sessions of people at the dashboard, by the hash of their token.
CREATE TABLE logins (
    token_hash TEXT NOT NULL,
    principal TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (token_hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX logins_expiry ON logins (expires_at);
