-- The schema of version 37; see docs/decisions/0059. Subjects: jobs, workers, queues, limits, cron
-- entries, workflows, webhooks, schemas, rooms, events, access.
-- Times are milliseconds since 1970. JSON lies in columns of text exactly as it was checked.

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
    result TEXT,
    -- The fingerprint by which unique jobs are compared.
    unique_key BLOB,
    workflow_id TEXT,
    workflow_node INTEGER,
    parent_results TEXT,
    rate_key TEXT,
    on_limit TEXT,
    -- True while the limit of its key holds the job back. A claim does not meet it then.
    gated INTEGER NOT NULL DEFAULT 0,
    -- Bytes of the arguments, the meta and the options.
    size INTEGER NOT NULL DEFAULT 0,
    trace_id TEXT,
    -- The tables below that have a row of the job, as bits; see domain/jobs/attachments.py.
    beside INTEGER NOT NULL DEFAULT 0,
    -- Of a discarded job: the type of its last error, and if it counts towards its queue's limit.
    error_type TEXT,
    kept INTEGER,
    -- The demand of the job on its worker.
    demand TEXT,
    tenant TEXT,
    -- The worker with which the job ended. No index: lists of what a worker did are searched by id.
    ended_by TEXT
) STRICT;

-- Conditions of indexes list no states: for a list SQLite would make a table in each statement that
-- may move a row in or out, and so in every ACK and FETCH. Jobs without the subject of an index,
-- such as a tenant, are not in it and cost nothing.

-- Claims: the jobs of a queue in the order in which they are handed out.
CREATE INDEX jobs_claim ON jobs (queue, priority DESC, seq)
    WHERE state = 'available' AND gated = 0;
-- Claims of job types.
CREATE INDEX jobs_claim_type ON jobs (queue, type, priority DESC, seq)
    WHERE state = 'available' AND gated = 0;
-- Claims of workers that do not meet every demand.
CREATE INDEX jobs_demand ON jobs (queue, demand, priority DESC, seq)
    WHERE state = 'available' AND gated = 0 AND demand IS NOT NULL;
-- Claims for one tenant after another, of any type and of some.
CREATE INDEX jobs_tenant_claim ON jobs (queue, tenant, priority DESC, seq)
    WHERE state = 'available' AND gated = 0 AND tenant IS NOT NULL;
CREATE INDEX jobs_tenant_claim_type ON jobs (queue, type, tenant, priority DESC, seq)
    WHERE state = 'available' AND gated = 0 AND tenant IS NOT NULL;
-- The next jobs of each rate key, by queue and type, as a fetch may want either.
CREATE INDEX jobs_rate ON jobs (rate_key, state, queue, type, priority DESC, seq)
    WHERE rate_key IS NOT NULL;
-- The oldest gated jobs of a queue, for queues that drop what is too much.
CREATE INDEX jobs_gated ON jobs (queue, seq) WHERE state = 'available' AND gated = 1;
-- Promotion, expiry and retention: what time alone changes next.
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
-- Promotion by a FETCH, which looks if a job of its queues is due.
CREATE INDEX jobs_promotion ON jobs (queue, due_at)
    WHERE state = 'scheduled' OR state = 'retryable';
-- Unique jobs: for each state a look at the newest one alone, and the list of held keys.
CREATE INDEX jobs_unique ON jobs (unique_key, state, created_at) WHERE unique_key IS NOT NULL;
CREATE INDEX jobs_unique_held ON jobs (id)
    WHERE unique_key IS NOT NULL
    AND state <> 'completed' AND state <> 'cancelled' AND state <> 'discarded';
-- Lists by state, for the states that a job which simply runs is never in.
CREATE INDEX jobs_parked ON jobs (state, id)
    WHERE state <> 'available' AND state <> 'active' AND state <> 'completed';
CREATE INDEX jobs_parked_queue ON jobs (queue, state, id)
    WHERE state <> 'available' AND state <> 'active' AND state <> 'completed';
CREATE INDEX jobs_scheduled ON jobs (scheduled_at, id) WHERE state = 'scheduled';
CREATE INDEX jobs_tenant ON jobs (tenant, id) WHERE tenant IS NOT NULL;
-- Dead letters, newest first. With the state, so that counting reads nothing but the index.
CREATE INDEX jobs_dead ON jobs (finished_at, id) WHERE state = 'discarded';
CREATE INDEX jobs_dead_queue ON jobs (queue, finished_at, id, state) WHERE state = 'discarded';
CREATE INDEX jobs_dead_error ON jobs (error_type, finished_at, id, state) WHERE state = 'discarded';
CREATE INDEX jobs_tenant_dead ON jobs (tenant, finished_at, id)
    WHERE state = 'discarded' AND tenant IS NOT NULL;
-- Dead letters that count towards the limit of a queue.
CREATE INDEX jobs_dead_kept ON jobs (queue, finished_at, id) WHERE state = 'discarded' AND kept;

-- The holds of active jobs. Narrow, so that a heartbeat rewrites little.
CREATE TABLE leases (
    job_id TEXT NOT NULL PRIMARY KEY,
    queue TEXT NOT NULL,
    job_type TEXT NOT NULL,
    worker_id TEXT,
    attempt INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    deadline_at INTEGER,
    fetch_id TEXT,
    stall_ms INTEGER,
    -- For the events of heartbeats, which do not read the job.
    trace_id TEXT,
    -- The time of the worker's report that it has begun, which may be later than the claim.
    running_at INTEGER,
    late_ack INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX leases_expiry ON leases (expires_at);
CREATE INDEX leases_deadline ON leases (deadline_at) WHERE deadline_at IS NOT NULL;
CREATE INDEX leases_worker ON leases (worker_id) WHERE worker_id IS NOT NULL;
CREATE INDEX leases_fetch ON leases (fetch_id) WHERE fetch_id IS NOT NULL;

-- The workers that held a job before, whose late ACK may be allowed.
CREATE TABLE earlier_holders (
    job_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    worker_id TEXT NOT NULL,
    started_at INTEGER,
    PRIMARY KEY (job_id, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
    job_id TEXT NOT NULL PRIMARY KEY,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL,
    saved_at INTEGER NOT NULL,
    -- Of a durable handler: the index of its step, and its log of side effects.
    step_index INTEGER,
    metadata TEXT
) STRICT;

CREATE TABLE progress (
    job_id TEXT NOT NULL PRIMARY KEY,
    attempt INTEGER NOT NULL,
    value REAL,
    message TEXT,
    data TEXT,
    checkpoint TEXT,
    updated_at INTEGER NOT NULL,
    told_at INTEGER NOT NULL
) STRICT;

-- For clients that cannot name jobs by their ids; given when a number is first asked for.
CREATE TABLE job_numbers (
    number INTEGER NOT NULL PRIMARY KEY,
    job_id TEXT NOT NULL UNIQUE
) STRICT;

-- Idempotency keys.
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
    profile TEXT NOT NULL,
    -- Presence as in the last event about it. A deleted worker stays in lists for a while.
    presence TEXT NOT NULL DEFAULT 'online',
    deleted_at INTEGER,
    principal TEXT,
    -- The number of sessions that the worker has opened, and the time at which it lost the last.
    session INTEGER NOT NULL DEFAULT 0,
    dropped_at INTEGER,
    -- True if a worker that is gone was declared dead, and did not leave: a FETCH brings it back.
    died INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX workers_alive ON workers (alive_at) WHERE gone_at IS NULL AND alive_at IS NOT NULL;
CREATE INDEX workers_gone ON workers (gone_at) WHERE gone_at IS NOT NULL;
CREATE INDEX workers_dropped ON workers (dropped_at)
    WHERE gone_at IS NULL AND dropped_at IS NOT NULL;

-- Queues that were paused or configured.
CREATE TABLE queues (
    name TEXT NOT NULL PRIMARY KEY,
    paused INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    config TEXT,
    configured_at INTEGER
) STRICT, WITHOUT ROWID;

-- Jobs by state and bytes that wait; a row for each queue and node, summed by the reader.
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
    bytes INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (queue, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenants (
    name TEXT NOT NULL PRIMARY KEY,
    config TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Pools of queues.
CREATE TABLE pools (
    name TEXT NOT NULL PRIMARY KEY,
    config TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The shares of the versions of a job type, for jobs that ask for no version.
CREATE TABLE routings (
    type TEXT NOT NULL PRIMARY KEY,
    config TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Limits of rate keys and queues.
CREATE TABLE limits (
    name TEXT NOT NULL PRIMARY KEY,
    policy TEXT NOT NULL,
    active INTEGER NOT NULL,
    starts TEXT NOT NULL,
    next_us INTEGER NOT NULL,
    held_until INTEGER,
    override TEXT,
    override_until INTEGER,
    waits_since INTEGER,
    opens_at INTEGER,
    used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Limits that jobs wait for and that time will open.
CREATE INDEX limits_opening ON limits (opens_at) WHERE opens_at IS NOT NULL;
CREATE INDEX limits_used ON limits (used_at);

CREATE TABLE cron (
    name TEXT NOT NULL PRIMARY KEY,
    expression TEXT NOT NULL,
    timezone TEXT NOT NULL,
    overlap TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    definition TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    counted_from INTEGER NOT NULL,
    next_run_at INTEGER,
    last_run_at INTEGER,
    last_job_id TEXT,
    run_count INTEGER NOT NULL,
    held INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX cron_due ON cron (next_run_at) WHERE next_run_at IS NOT NULL;
-- Entries with runs that wait for the one before.
CREATE INDEX cron_held ON cron (name) WHERE held > 0;

-- The last runs of each entry.
CREATE TABLE cron_runs (
    pos INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    scheduled_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    job_id TEXT,
    manual INTEGER NOT NULL,
    held INTEGER NOT NULL
) STRICT;

CREATE INDEX cron_runs_name ON cron_runs (name, pos);
CREATE INDEX cron_runs_held ON cron_runs (name, pos) WHERE held = 1;

CREATE TABLE workflows (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT,
    type TEXT NOT NULL,
    state TEXT NOT NULL,
    plan TEXT NOT NULL,
    progress TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    due_at INTEGER,
    request_hash BLOB,
    tenant TEXT
) STRICT;

-- Lists, newest first.
CREATE INDEX workflows_list ON workflows (created_at, id);
CREATE INDEX workflows_state ON workflows (state, created_at, id);
CREATE INDEX workflows_tenant ON workflows (tenant, created_at, id) WHERE tenant IS NOT NULL;
-- Retention.
CREATE INDEX workflows_due ON workflows (due_at) WHERE due_at IS NOT NULL;

-- A node that is a job: its request while it waits, then its job, then the result or the error.
CREATE TABLE workflow_jobs (
    workflow_id TEXT NOT NULL,
    node INTEGER NOT NULL,
    request TEXT,
    job_id TEXT,
    result TEXT,
    error TEXT,
    ended_at INTEGER,
    PRIMARY KEY (workflow_id, node)
) STRICT;

-- Subscriptions.
CREATE TABLE webhooks (
    id TEXT NOT NULL PRIMARY KEY,
    url TEXT NOT NULL,
    wish TEXT NOT NULL,
    active INTEGER NOT NULL,
    secret TEXT NOT NULL,
    old_secret TEXT,
    old_until INTEGER,
    -- The position in the event log up to which its deliveries have been made.
    cursor INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    tenant TEXT
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
    took_ms INTEGER,
    -- Also known when the subscription is gone.
    tenant TEXT
) STRICT;

-- The next deliveries to a target; only pending ones have a due time.
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at, event_id) WHERE due_at IS NOT NULL;
-- Lists, newest first.
CREATE INDEX deliveries_age ON deliveries (created_at, id);
CREATE INDEX deliveries_webhook ON deliveries (webhook_id, created_at, id);
CREATE INDEX deliveries_status ON deliveries (status, created_at, id);
CREATE INDEX deliveries_tenant ON deliveries (tenant, created_at, id) WHERE tenant IS NOT NULL;
-- Retention.
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;

-- Versions of the schemas of job arguments. One is never changed, but removed and registered anew.
-- The digest is that of the document, by which a node knows what it has compiled.
CREATE TABLE schemas (
    type TEXT NOT NULL,
    major INTEGER NOT NULL,
    minor INTEGER NOT NULL,
    patch INTEGER NOT NULL,
    mode TEXT,
    digest BLOB NOT NULL,
    written TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    document TEXT NOT NULL,
    -- The URI that a client chose, where it is not the usual one.
    uri TEXT,
    PRIMARY KEY (type, major, minor, patch)
) STRICT;

CREATE UNIQUE INDEX schemas_uri ON schemas (uri) WHERE uri IS NOT NULL;

-- Kinds of jobs that workers name: the jobs of one type, and of one queue where it names one.
CREATE TABLE job_kinds (
    room TEXT NOT NULL,
    name TEXT NOT NULL,
    queue TEXT,
    type TEXT NOT NULL,
    schema TEXT,
    result_schema TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    PRIMARY KEY (room, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_kinds_type ON job_kinds (type);

-- The kinds that a worker runs; a claim joins them with the jobs of each queue and type.
CREATE TABLE worker_kinds (
    worker_id TEXT NOT NULL,
    room TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (worker_id, room, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX worker_kinds_kind ON worker_kinds (room, name);

-- The event log; `pos` is the cursor and rises in commit order.
CREATE TABLE events (
    pos INTEGER NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    subject TEXT NOT NULL,
    queue TEXT,
    job_type TEXT,
    -- Without what the columns of the event say.
    data TEXT NOT NULL
) STRICT;

-- The number of events up to a position, from which housekeeping counts on.
CREATE TABLE event_tally (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    upto INTEGER NOT NULL,
    total INTEGER NOT NULL
) STRICT;

INSERT INTO event_tally (one, upto, total) VALUES (1, 0, 0);

-- Counts of events in a queue, or in all queues (an empty name), in the span of `step` milliseconds
-- from `at` on; those of completed jobs by their run time.
CREATE TABLE statistics (
    step INTEGER NOT NULL,
    queue TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (step, queue, at, kind, bucket)
) STRICT;

CREATE INDEX statistics_age ON statistics (step, at);

-- There is a row while maintenance is on.
CREATE TABLE maintenance (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    reason TEXT,
    since INTEGER NOT NULL,
    until INTEGER
) STRICT;

-- Sessions of people at the dashboard, by the hash of their token.
CREATE TABLE logins (
    token_hash TEXT NOT NULL,
    principal TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (token_hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX logins_expiry ON logins (expires_at);

-- Actions of people.
CREATE TABLE actions (
    pos INTEGER NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    via TEXT NOT NULL,
    tenant TEXT,
    address TEXT NOT NULL,
    call TEXT NOT NULL,
    target TEXT NOT NULL,
    request_id TEXT NOT NULL,
    outcome TEXT NOT NULL
) STRICT;

CREATE INDEX actions_at ON actions (at);
