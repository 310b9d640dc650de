-- Jobs, leases, workers, queues, events, idempotency keys; nodes and their settings.
-- Times are milliseconds since 1970. Payload columns hold JSON exactly as checked: bytes, since
-- jsonb refuses \u0000 and would not give back what came in. Text compares bytewise, as on SQLite.

CREATE TABLE jobs (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    type text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    priority int8 NOT NULL,
    seq int8 NOT NULL,
    attempt int8 NOT NULL,
    releases int8 NOT NULL,
    max_attempts int8 NOT NULL,
    created_at int8 NOT NULL,
    enqueued_at int8,
    started_at int8,
    finished_at int8,
    completed_at int8,
    scheduled_at int8,
    expires_at int8,
    due_at int8,
    lease_ms int8,
    run_ms int8,
    retry_delay_ms int8,
    spec bytea NOT NULL,
    error bytea,
    errors bytea,
    args bytea NOT NULL,
    meta bytea NOT NULL,
    request_hash bytea,
    result bytea
) WITH (
    -- Every transition changes an indexed column, so free space in the pages would not be used;
    -- what helps is vacuum at a fixed number of dead rows, or a long table waits days for it.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02
);

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
    job_id text COLLATE "C" NOT NULL PRIMARY KEY,
    queue text COLLATE "C" NOT NULL,
    job_type text COLLATE "C" NOT NULL,
    worker_id text COLLATE "C",
    attempt int8 NOT NULL,
    duration_ms int8 NOT NULL,
    expires_at int8 NOT NULL,
    deadline_at int8,
    fetch_id text COLLATE "C"
) WITH (
    -- Rows live for seconds: the table stays small only if vacuum comes often and without pauses.
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX leases_expiry ON leases (expires_at);
CREATE INDEX leases_deadline ON leases (deadline_at) WHERE deadline_at IS NOT NULL;
CREATE INDEX leases_worker ON leases (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX leases_fetch ON leases (fetch_id) WHERE fetch_id IS NOT NULL;

CREATE TABLE workers (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    state text COLLATE "C" NOT NULL,
    draining boolean NOT NULL,
    directive text COLLATE "C",
    incarnation int8 NOT NULL,
    alive_at int8,
    beat_at int8,
    seen_at int8 NOT NULL,
    created_at int8 NOT NULL,
    gone_at int8,
    profile bytea NOT NULL
) WITH (
    -- A heartbeat changes no indexed column (so none on alive_at: workers are few), and with room
    -- in its page the new row costs no index entry and is tidied up without vacuum.
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05
);

CREATE INDEX workers_gone ON workers (gone_at) WHERE gone_at IS NOT NULL;

CREATE TABLE queues (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    paused boolean NOT NULL,
    created_at int8 NOT NULL,
    changed_at int8 NOT NULL
);

-- Jobs by state; a row per queue and node, so that nodes never wait for each other here.
CREATE TABLE queue_counts (
    queue text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    created_at int8 NOT NULL,
    scheduled int8 NOT NULL,
    available int8 NOT NULL,
    pending int8 NOT NULL,
    active int8 NOT NULL,
    completed int8 NOT NULL,
    retryable int8 NOT NULL,
    cancelled int8 NOT NULL,
    discarded int8 NOT NULL,
    PRIMARY KEY (queue, node)
) WITH (
    -- Rewritten by every transaction: mostly empty pages let each row be updated in place.
    fillfactor = 20,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- Events and history; `pos` is the cursor: a transaction's number and a place inside it.
CREATE TABLE events (
    pos int8 NOT NULL PRIMARY KEY,
    at int8 NOT NULL,
    type text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    queue text COLLATE "C",
    job_type text COLLATE "C",
    data bytea NOT NULL
);

CREATE TABLE receipts (
    principal text COLLATE "C" NOT NULL,
    operation text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    body_hash bytea NOT NULL,
    job_ids text COLLATE "C" NOT NULL,
    created_at int8 NOT NULL,
    PRIMARY KEY (principal, operation, key)
);

CREATE INDEX receipts_age ON receipts (created_at);

-- The server nodes on this database; a fetch may be waiting on one of them until a moment.
CREATE TABLE nodes (
    node text COLLATE "C" NOT NULL PRIMARY KEY,
    seen_at int8 NOT NULL,
    waiting_until int8 NOT NULL
) WITH (fillfactor = 50);

-- `position_offset` is added to the numbers of transactions, so that positions keep rising after a
-- move to a database cluster that has counted fewer transactions.
CREATE TABLE settings (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    value int8 NOT NULL
);

INSERT INTO settings (name, value) VALUES ('position_offset', 0);
