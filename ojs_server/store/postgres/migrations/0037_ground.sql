-- The schema of version 37; see docs/decisions/0059. Subjects: jobs, workers, queues, limits, cron
-- entries, workflows, webhooks, schemas, rooms, events, access, nodes.
-- Times are milliseconds since 1970. JSON is stored as bytes, exactly as it was checked: jsonb
-- refuses \u0000, and would not give back what came in. Text compares bytewise, as on SQLite.
--
-- By itself PostgreSQL would vacuum after changes of a fifth of a table, which may be millions of
-- rows. So tables that change much have thresholds of their own.

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
    result bytea,
    -- The fingerprint by which unique jobs are compared.
    unique_key bytea,
    workflow_id text COLLATE "C",
    workflow_node int8,
    parent_results bytea,
    rate_key text COLLATE "C",
    on_limit text COLLATE "C",
    -- True while the limit of its key holds the job back. A claim does not meet it then.
    gated boolean NOT NULL DEFAULT false,
    -- Bytes of the arguments, the meta and the options.
    size int8 NOT NULL DEFAULT 0,
    trace_id text COLLATE "C",
    -- The tables below that have a row of the job, as bits; see domain/jobs/attachments.py.
    beside int8 NOT NULL DEFAULT 0,
    -- Of a discarded job: the type of its last error, and if it counts towards its queue's limit.
    error_type text COLLATE "C",
    kept boolean,
    -- The demand of the job on its worker.
    demand text COLLATE "C",
    tenant text COLLATE "C",
    -- The worker with which the job ended. No index: lists of what a worker did are searched by id.
    ended_by text COLLATE "C"
) WITH (
    -- Every transition changes an indexed column, so free space in the pages would not be used.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02
);

-- Jobs without the subject of an index, such as a tenant, are not in it and cost nothing.

-- Claims: the jobs of a queue in the order in which they are handed out.
CREATE INDEX jobs_claim ON jobs (queue, priority DESC, seq)
    WHERE state = 'available' AND NOT gated;
-- Claims of job types.
CREATE INDEX jobs_claim_type ON jobs (queue, type, priority DESC, seq)
    WHERE state = 'available' AND NOT gated;
-- Claims of workers that do not meet every demand.
CREATE INDEX jobs_demand ON jobs (queue, demand, priority DESC, seq)
    WHERE state = 'available' AND NOT gated AND demand IS NOT NULL;
-- Claims for one tenant after another, of any type and of some.
CREATE INDEX jobs_tenant_claim ON jobs (queue, tenant, priority DESC, seq)
    WHERE state = 'available' AND NOT gated AND tenant IS NOT NULL;
CREATE INDEX jobs_tenant_claim_type ON jobs (queue, type, tenant, priority DESC, seq)
    WHERE state = 'available' AND NOT gated AND tenant IS NOT NULL;
-- The next jobs of each rate key, by queue and type, as a fetch may want either.
CREATE INDEX jobs_rate ON jobs (rate_key, state, queue, type, priority DESC, seq)
    WHERE rate_key IS NOT NULL;
-- The oldest gated jobs of a queue, for queues that drop what is too much.
CREATE INDEX jobs_gated ON jobs (queue, seq) WHERE state = 'available' AND gated;
-- Promotion, expiry and retention: what time alone changes next.
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
-- Promotion by a FETCH, which looks if a job of its queues is due.
CREATE INDEX jobs_promotion ON jobs (queue, due_at)
    WHERE state IN ('scheduled', 'retryable');
-- Unique jobs: for each state a look at the newest one alone, and the list of held keys.
CREATE INDEX jobs_unique ON jobs (unique_key, state, created_at) WHERE unique_key IS NOT NULL;
CREATE INDEX jobs_unique_held ON jobs (id)
    WHERE unique_key IS NOT NULL
    AND state IN ('scheduled', 'available', 'pending', 'active', 'retryable');
-- Lists by state, for the states that a job which simply runs is never in.
CREATE INDEX jobs_parked ON jobs (state, id)
    WHERE state IN ('scheduled', 'pending', 'retryable', 'cancelled', 'discarded');
CREATE INDEX jobs_parked_queue ON jobs (queue, state, id)
    WHERE state IN ('scheduled', 'pending', 'retryable', 'cancelled', 'discarded');
CREATE INDEX jobs_scheduled ON jobs (scheduled_at, id) WHERE state = 'scheduled';
CREATE INDEX jobs_tenant ON jobs (tenant, id) WHERE tenant IS NOT NULL;
-- Dead letters, newest first.
CREATE INDEX jobs_dead ON jobs (finished_at, id) WHERE state = 'discarded';
CREATE INDEX jobs_dead_queue ON jobs (queue, finished_at, id) WHERE state = 'discarded';
CREATE INDEX jobs_dead_error ON jobs (error_type, finished_at, id) WHERE state = 'discarded';
CREATE INDEX jobs_tenant_dead ON jobs (tenant, finished_at, id)
    WHERE state = 'discarded' AND tenant IS NOT NULL;
-- Dead letters that count towards the limit of a queue.
CREATE INDEX jobs_dead_kept ON jobs (queue, finished_at, id) WHERE state = 'discarded' AND kept;

-- Unique keys that transactions lock against each other. No committed row is ever in it, so that it
-- needs no log and no retention.
CREATE UNLOGGED TABLE unique_locks (unique_key bytea NOT NULL PRIMARY KEY);

-- The holds of active jobs. Narrow, so that a heartbeat rewrites little.
CREATE TABLE leases (
    job_id text COLLATE "C" NOT NULL PRIMARY KEY,
    queue text COLLATE "C" NOT NULL,
    job_type text COLLATE "C" NOT NULL,
    worker_id text COLLATE "C",
    attempt int8 NOT NULL,
    duration_ms int8 NOT NULL,
    expires_at int8 NOT NULL,
    deadline_at int8,
    fetch_id text COLLATE "C",
    stall_ms int8,
    -- For the events of heartbeats, which do not read the job.
    trace_id text COLLATE "C",
    -- The time of the worker's report that it has begun, which may be later than the claim.
    running_at int8,
    late_ack boolean NOT NULL DEFAULT false
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

-- The workers that held a job before, whose late ACK may be allowed.
CREATE TABLE earlier_holders (
    job_id text COLLATE "C" NOT NULL,
    attempt int8 NOT NULL,
    worker_id text COLLATE "C" NOT NULL,
    started_at int8,
    PRIMARY KEY (job_id, attempt)
);

CREATE TABLE checkpoints (
    job_id text COLLATE "C" NOT NULL PRIMARY KEY,
    sequence int8 NOT NULL,
    state bytea NOT NULL,
    saved_at int8 NOT NULL,
    -- Of a durable handler: the index of its step, and its log of side effects.
    step_index int8,
    metadata bytea
);

CREATE TABLE progress (
    job_id text COLLATE "C" NOT NULL PRIMARY KEY,
    attempt int8 NOT NULL,
    value float8,
    message bytea,
    data bytea,
    checkpoint bytea,
    updated_at int8 NOT NULL,
    told_at int8 NOT NULL
);

-- For clients that cannot name jobs by their ids; given when a number is first asked for.
CREATE TABLE job_numbers (
    number int8 NOT NULL PRIMARY KEY,
    job_id text COLLATE "C" NOT NULL UNIQUE
);

-- Idempotency keys.
CREATE TABLE receipts (
    principal text COLLATE "C" NOT NULL,
    operation text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    body_hash bytea NOT NULL,
    job_ids text COLLATE "C" NOT NULL,
    created_at int8 NOT NULL,
    PRIMARY KEY (principal, operation, key)
) WITH (
    -- Keys go after a day, oldest first, as fast as they come.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000
);

CREATE INDEX receipts_age ON receipts (created_at);

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
    profile bytea NOT NULL,
    -- Presence as in the last event about it. A deleted worker stays in lists for a while.
    presence text COLLATE "C" NOT NULL DEFAULT 'online',
    deleted_at int8,
    principal text COLLATE "C",
    -- The number of sessions that the worker has opened, and the time at which it lost the last.
    session int8 NOT NULL DEFAULT 0,
    dropped_at int8,
    -- True if a worker that is gone was declared dead, and did not leave: a FETCH brings it back.
    died bool NOT NULL DEFAULT false
) WITH (
    -- A heartbeat changes no indexed column (workers are few, so that alive_at and dropped_at need
    -- no index), and with room in its page the new row costs no index entry and no vacuum.
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05
);

CREATE INDEX workers_gone ON workers (gone_at) WHERE gone_at IS NOT NULL;

-- Queues that were paused or configured.
CREATE TABLE queues (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    paused boolean NOT NULL,
    created_at int8 NOT NULL,
    changed_at int8 NOT NULL,
    config bytea,
    configured_at int8
);

-- Jobs by state and bytes that wait; a row for each queue and node, so that nodes do not wait for
-- each other here.
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
    bytes int8 NOT NULL DEFAULT 0,
    PRIMARY KEY (queue, node)
) WITH (
    -- Rewritten by every transaction: mostly empty pages let each row be updated in place.
    fillfactor = 20,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE TABLE tenants (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    config bytea NOT NULL,
    created_at int8 NOT NULL,
    updated_at int8 NOT NULL
);

-- Pools of queues.
CREATE TABLE pools (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    config bytea NOT NULL,
    created_at int8 NOT NULL,
    updated_at int8 NOT NULL
);

-- The shares of the versions of a job type, for jobs that ask for no version.
CREATE TABLE routings (
    type text COLLATE "C" NOT NULL PRIMARY KEY,
    config bytea NOT NULL
);

-- Limits of rate keys and queues.
CREATE TABLE limits (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    policy bytea NOT NULL,
    active int8 NOT NULL,
    starts bytea NOT NULL,
    next_us int8 NOT NULL,
    held_until int8,
    override bytea,
    override_until int8,
    waits_since int8,
    opens_at int8,
    used_at int8 NOT NULL
) WITH (
    -- Rewritten by every start and end of a job with the key.
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05
);

-- Limits that jobs wait for and that time will open.
CREATE INDEX limits_opening ON limits (opens_at) WHERE opens_at IS NOT NULL;
CREATE INDEX limits_used ON limits (used_at);

CREATE TABLE cron (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    expression text COLLATE "C" NOT NULL,
    timezone text COLLATE "C" NOT NULL,
    overlap text COLLATE "C" NOT NULL,
    enabled boolean NOT NULL,
    definition bytea NOT NULL,
    created_at int8 NOT NULL,
    updated_at int8 NOT NULL,
    counted_from int8 NOT NULL,
    next_run_at int8,
    last_run_at int8,
    last_job_id text COLLATE "C",
    run_count int8 NOT NULL,
    held int8 NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX cron_due ON cron (next_run_at) WHERE next_run_at IS NOT NULL;
-- Entries with runs that wait for the one before.
CREATE INDEX cron_held ON cron (name) WHERE held > 0;

-- The last runs of each entry.
CREATE TABLE cron_runs (
    pos int8 NOT NULL PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    scheduled_at int8 NOT NULL,
    at int8 NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    reason text COLLATE "C",
    job_id text COLLATE "C",
    manual boolean NOT NULL,
    held boolean NOT NULL
);

CREATE INDEX cron_runs_name ON cron_runs (name, pos);
CREATE INDEX cron_runs_held ON cron_runs (name, pos) WHERE held;

CREATE TABLE workflows (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    name text COLLATE "C",
    type text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    plan bytea NOT NULL,
    progress text COLLATE "C" NOT NULL,
    created_at int8 NOT NULL,
    finished_at int8,
    due_at int8,
    request_hash bytea,
    tenant text COLLATE "C"
) WITH (
    -- Each step rewrites the progress, and mostly no indexed column.
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05
);

-- Lists, newest first.
CREATE INDEX workflows_list ON workflows (created_at, id);
CREATE INDEX workflows_state ON workflows (state, created_at, id);
CREATE INDEX workflows_tenant ON workflows (tenant, created_at, id) WHERE tenant IS NOT NULL;
-- Retention.
CREATE INDEX workflows_due ON workflows (due_at) WHERE due_at IS NOT NULL;

-- A node that is a job: its request while it waits, then its job, then the result or the error.
CREATE TABLE workflow_jobs (
    workflow_id text COLLATE "C" NOT NULL,
    node int8 NOT NULL,
    request bytea,
    job_id text COLLATE "C",
    result bytea,
    error bytea,
    ended_at int8,
    PRIMARY KEY (workflow_id, node)
) WITH (fillfactor = 70);

-- Subscriptions.
CREATE TABLE webhooks (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    url text COLLATE "C" NOT NULL,
    wish bytea NOT NULL,
    active bool NOT NULL,
    secret text COLLATE "C" NOT NULL,
    old_secret text COLLATE "C",
    old_until int8,
    -- The position in the event log up to which its deliveries have been made.
    cursor int8 NOT NULL,
    created_at int8 NOT NULL,
    updated_at int8 NOT NULL,
    tenant text COLLATE "C"
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
    took_ms int8,
    -- Also known when the subscription is gone.
    tenant text COLLATE "C"
) WITH (
    -- Each attempt changes indexed columns, and a look for the next one reads past the dead rows.
    -- Most of the table is history, so that a share of it says nothing.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000
);

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
    type text COLLATE "C" NOT NULL,
    major int8 NOT NULL,
    minor int8 NOT NULL,
    patch int8 NOT NULL,
    mode text COLLATE "C",
    digest bytea NOT NULL,
    written bytea NOT NULL,
    created_at int8 NOT NULL,
    document bytea NOT NULL,
    -- The URI that a client chose, where it is not the usual one.
    uri text COLLATE "C",
    PRIMARY KEY (type, major, minor, patch)
);

CREATE UNIQUE INDEX schemas_uri ON schemas (uri) WHERE uri IS NOT NULL;

-- Kinds of jobs that workers name: the jobs of one type, and of one queue where it names one.
CREATE TABLE job_kinds (
    room text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    queue text COLLATE "C",
    type text COLLATE "C" NOT NULL,
    schema bytea,
    result_schema bytea,
    created_at int8 NOT NULL,
    updated_at int8 NOT NULL,
    deleted_at int8,
    PRIMARY KEY (room, name)
);

CREATE INDEX job_kinds_type ON job_kinds (type);

-- The kinds that a worker runs; a claim joins them with the jobs of each queue and type.
CREATE TABLE worker_kinds (
    worker_id text COLLATE "C" NOT NULL,
    room text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (worker_id, room, name)
);

CREATE INDEX worker_kinds_kind ON worker_kinds (room, name);

-- The event log; `pos` is the cursor: the number of a transaction and a place inside it.
CREATE TABLE events (
    pos int8 NOT NULL PRIMARY KEY,
    at int8 NOT NULL,
    type text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    queue text COLLATE "C",
    job_type text COLLATE "C",
    -- Without what the columns of the event say.
    data bytea NOT NULL
) WITH (
    -- Three rows a job come at one end and go at the other: each step of retention begins there,
    -- and reads past all dead rows that were not vacuumed.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0.05
);

-- The number of events up to a position, from which housekeeping counts on.
CREATE TABLE event_tally (
    one int8 NOT NULL PRIMARY KEY CHECK (one = 1),
    upto int8 NOT NULL,
    total int8 NOT NULL
);

INSERT INTO event_tally (one, upto, total) VALUES (1, 0, 0);

-- Counts of events in a queue, or in all queues (an empty name), in the span of `step` milliseconds
-- from `at` on; those of completed jobs by their run time.
CREATE TABLE statistics (
    step int8 NOT NULL,
    queue text COLLATE "C" NOT NULL,
    at int8 NOT NULL,
    kind text COLLATE "C" NOT NULL,
    bucket int8 NOT NULL,
    count int8 NOT NULL,
    PRIMARY KEY (step, queue, at, kind, bucket)
) WITH (fillfactor = 70);

CREATE INDEX statistics_age ON statistics (step, at);

-- There is a row while maintenance is on.
CREATE TABLE maintenance (
    one int8 NOT NULL PRIMARY KEY CHECK (one = 1),
    reason text COLLATE "C",
    since int8 NOT NULL,
    until int8
);

-- Sessions of people at the dashboard, by the hash of their token.
CREATE TABLE logins (
    token_hash text COLLATE "C" NOT NULL,
    principal text COLLATE "C" NOT NULL,
    created_at int8 NOT NULL,
    expires_at int8 NOT NULL,
    PRIMARY KEY (token_hash)
);

CREATE INDEX logins_expiry ON logins (expires_at);

-- Actions of people.
CREATE TABLE actions (
    pos int8 NOT NULL PRIMARY KEY,
    at int8 NOT NULL,
    name text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    via text COLLATE "C" NOT NULL,
    tenant text COLLATE "C",
    address text COLLATE "C" NOT NULL,
    call text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    outcome text COLLATE "C" NOT NULL
);

CREATE INDEX actions_at ON actions (at);

-- The server nodes on this database; a fetch may be waiting on one of them until a moment. A node
-- that has stopped, or is of an earlier version, has no start.
CREATE TABLE nodes (
    node text COLLATE "C" NOT NULL PRIMARY KEY,
    seen_at int8 NOT NULL,
    waiting_until int8 NOT NULL,
    started_at int8,
    host text COLLATE "C",
    process int8,
    version text COLLATE "C",
    waiting_fetches int8,
    event_streams int8
) WITH (fillfactor = 50);

CREATE TABLE settings (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    value int8 NOT NULL
);

INSERT INTO settings (name, value) VALUES
    -- Added to a transaction's number, so that positions go on rising after a move to a database
    -- cluster that has counted fewer transactions.
    ('position_offset', 0),
    -- Rises with every change of the settings in the memory of nodes; transactions read it first.
    ('queue_configs', 0);

-- The tokens of transactions, by which a node learns the outcome of a COMMIT whose answer was lost.
-- A token is a UUIDv7 for the moment at which its transaction began, by the database's clock.
CREATE TABLE outcomes (
    token uuid NOT NULL PRIMARY KEY,
    -- False where the question came first: then the transaction cannot commit any more.
    carried_out boolean NOT NULL
) WITH (
    -- Rows come at one end and go at the other, as fast as commits do.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0.5,
    autovacuum_analyze_scale_factor = 0.5
);
