-- Webhooks: subscriptions, and the events on their way to them.

CREATE TABLE webhooks (
    id TEXT NOT NULL PRIMARY KEY,
    url TEXT NOT NULL,
    wish TEXT NOT NULL,
    active INTEGER NOT NULL,
    secret TEXT NOT NULL,
    old_secret TEXT,
    old_until INTEGER,
    -- Up to this place in the event log its deliveries have been made.
    cursor INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    id TEXT NOT NULL PRIMARY KEY,
    webhook_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    body TEXT NOT NULL,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    due_at INTEGER,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    answer INTEGER,
    error TEXT,
    took_ms INTEGER
) STRICT;

-- The next deliveries to a target; only pending ones have a due time.
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at, event_id) WHERE due_at IS NOT NULL;
-- The lists, newest first: of all, of a subscription, of a status.
CREATE INDEX deliveries_age ON deliveries (created_at, id);
CREATE INDEX deliveries_webhook ON deliveries (webhook_id, created_at, id);
CREATE INDEX deliveries_status ON deliveries (status, created_at, id);
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;
