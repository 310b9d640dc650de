-- Providers of rooms, which answer reads.
CREATE TABLE providers (
    id TEXT NOT NULL,
    room TEXT NOT NULL,
    category TEXT NOT NULL,
    name TEXT NOT NULL,
    schema BLOB NOT NULL,
    content_type TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    principal TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (id)
) STRICT, WITHOUT ROWID;

CREATE INDEX providers_room ON providers (room, created_at);
CREATE INDEX providers_worker ON providers (worker_id);

-- Requests to providers, and the answers.
CREATE TABLE provider_results (
    provider_id TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    until INTEGER NOT NULL,
    content BLOB,
    PRIMARY KEY (provider_id, request_hash)
) STRICT;

CREATE INDEX provider_results_until ON provider_results (until);
