-- Providers of rooms, which answer reads.
CREATE TABLE providers (
    id text COLLATE "C" NOT NULL,
    room text COLLATE "C" NOT NULL,
    category text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    schema bytea NOT NULL,
    content_type text COLLATE "C" NOT NULL,
    worker_id text COLLATE "C" NOT NULL,
    principal text COLLATE "C",
    created_at int8 NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX providers_room ON providers (room, created_at);
CREATE INDEX providers_worker ON providers (worker_id);

-- Requests to providers, and the answers.
CREATE TABLE provider_results (
    provider_id text COLLATE "C" NOT NULL,
    request_hash text COLLATE "C" NOT NULL,
    until int8 NOT NULL,
    content bytea,
    PRIMARY KEY (provider_id, request_hash)
);

CREATE INDEX provider_results_until ON provider_results (until);
