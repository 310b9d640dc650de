-- Sessions of people at the dashboard, by the hash of their token.
CREATE TABLE logins (
    token_hash text COLLATE "C" NOT NULL,
    principal text COLLATE "C" NOT NULL,
    created_at int8 NOT NULL,
    expires_at int8 NOT NULL,
    PRIMARY KEY (token_hash)
);

CREATE INDEX logins_expiry ON logins (expires_at);
