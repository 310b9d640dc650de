-- Webhooks: subscriptions, and the events on their way to them.

CREATE TABLE webhooks (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    url text COLLATE "C" NOT NULL,
    wish bytea NOT NULL,
    active bool NOT NULL,
    secret text COLLATE "C" NOT NULL,
    old_secret text COLLATE "C",
    old_until int8,
    -- Up to this place in the event log its deliveries have been made.
    cursor int8 NOT NULL,
    created_at int8 NOT NULL,
    updated_at int8 NOT NULL
);

CREATE TABLE deliveries (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    webhook_id text COLLATE "C" NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    event_type text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    status text COLLATE "C" NOT NULL,
    attempt int8 NOT NULL,
    due_at int8,
    created_at int8 NOT NULL,
    finished_at int8,
    answer int8,
    error text COLLATE "C",
    took_ms int8
);

-- The next deliveries to a target; only pending ones have a due time.
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at, event_id) WHERE due_at IS NOT NULL;
-- The lists, newest first: of all, of a subscription, of a status.
CREATE INDEX deliveries_age ON deliveries (created_at, id);
CREATE INDEX deliveries_webhook ON deliveries (webhook_id, created_at, id);
CREATE INDEX deliveries_status ON deliveries (status, created_at, id);
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;
