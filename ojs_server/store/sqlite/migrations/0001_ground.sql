-- Jobs, leases, workers, queues, events and idempotency keys.
-- Times are milliseconds since 1970. Payload columns hold JSON text exactly as checked.

CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY,
    type TEXT NOT NULL,
    queue TEXT NOT NULL,
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    releases INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    enqueued_at INTEGER,
    started_at INTEGER,
    finished_at INTEGER,
    completed_at INTEGER,
    scheduled_at INTEGER,
    expires_at INTEGER,
    due_at INTEGER,
    lease_ms INTEGER,
    run_ms INTEGER,
    retry_delay_ms INTEGER,
    spec TEXT NOT NULL,
    error TEXT,
    errors TEXT,
    args TEXT NOT NULL,
    meta TEXT NOT NULL,
    request_hash BLOB,
    result TEXT
) STRICT;

-- The claim: each queue's jobs in the order in which they are handed out.
CREATE INDEX jobs_claim ON jobs (queue, priority DESC, seq) WHERE state = 'available';
-- For fetches that name job types.
CREATE INDEX jobs_claim_type ON jobs (queue, type, priority DESC, seq) WHERE state = 'available';
-- Promotion, expiry and retention: what time alone changes next.
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
-- The dead-letter list, newest first.
CREATE INDEX jobs_dead ON jobs (finished_at, id) WHERE state = 'discarded';

-- The holders of active jobs. Narrow, so that a heartbeat rewrites little.
CREATE TABLE leases (
    job_id TEXT NOT NULL PRIMARY KEY,
    queue TEXT NOT NULL,
    job_type TEXT NOT NULL,
    worker_id TEXT,
    attempt INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    deadline_at INTEGER,
    fetch_id TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX leases_expiry ON leases (expires_at);
CREATE INDEX leases_deadline ON leases (deadline_at) WHERE deadline_at IS NOT NULL;
CREATE INDEX leases_worker ON leases (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX leases_fetch ON leases (fetch_id) WHERE fetch_id IS NOT NULL;

CREATE TABLE workers (
    id TEXT NOT NULL PRIMARY KEY,
    state TEXT NOT NULL,
    draining INTEGER NOT NULL,
    directive TEXT,
    incarnation INTEGER NOT NULL,
    alive_at INTEGER,
    beat_at INTEGER,
    seen_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    gone_at INTEGER,
    profile TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX workers_alive ON workers (alive_at) WHERE gone_at IS NULL AND alive_at IS NOT NULL;
CREATE INDEX workers_gone ON workers (gone_at) WHERE gone_at IS NOT NULL;

CREATE TABLE queues (
    name TEXT NOT NULL PRIMARY KEY,
    paused INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Jobs by state; a row per queue and node, summed by the reader.
CREATE TABLE queue_counts (
    queue TEXT NOT NULL,
    node TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    scheduled INTEGER NOT NULL,
    available INTEGER NOT NULL,
    pending INTEGER NOT NULL,
    active INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    retryable INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    discarded INTEGER NOT NULL,
    PRIMARY KEY (queue, node)
) STRICT, WITHOUT ROWID;

-- Events and history; `pos` is the cursor and rises in commit order.
CREATE TABLE events (
    pos INTEGER NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    subject TEXT NOT NULL,
    queue TEXT,
    job_type TEXT,
    data TEXT NOT NULL
) STRICT;

CREATE TABLE receipts (
    principal TEXT NOT NULL,
    operation TEXT NOT NULL,
    key TEXT NOT NULL,
    body_hash BLOB NOT NULL,
    job_ids TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (principal, operation, key)
) STRICT;

CREATE INDEX receipts_age ON receipts (created_at);
