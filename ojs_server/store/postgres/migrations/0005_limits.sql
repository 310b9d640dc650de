-- Limits of keys and queues, the configuration of queues, and how many bytes wait in each.
-- A job with a rate key is `gated` while it is none of the next to start: it is then in an index
-- of its own, and a claim does not meet it.

ALTER TABLE jobs ADD COLUMN rate_key text COLLATE "C";
ALTER TABLE jobs ADD COLUMN on_limit text COLLATE "C";
ALTER TABLE jobs ADD COLUMN gated boolean NOT NULL DEFAULT false;
ALTER TABLE jobs ADD COLUMN size int8 NOT NULL DEFAULT 0;

UPDATE jobs SET size = octet_length(args) + octet_length(meta) + octet_length(spec);

DROP INDEX jobs_claim;
DROP INDEX jobs_claim_type;
-- The claim: each queue's jobs in the order in which they are handed out.
CREATE INDEX jobs_claim ON jobs (queue, priority DESC, seq)
    WHERE state = 'available' AND NOT gated;
-- For fetches that name job types.
CREATE INDEX jobs_claim_type ON jobs (queue, type, priority DESC, seq)
    WHERE state = 'available' AND NOT gated;
-- The next jobs of each key, by queue and type, as a fetch may name either.
CREATE INDEX jobs_rate ON jobs (rate_key, state, queue, type, priority DESC, seq)
    WHERE rate_key IS NOT NULL;
-- The oldest gated jobs of a queue, for queues that drop what is too much.
CREATE INDEX jobs_gated ON jobs (queue, seq) WHERE state = 'available' AND gated;

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

-- Keys that jobs wait for and that time will open.
CREATE INDEX limits_opening ON limits (opens_at) WHERE opens_at IS NOT NULL;
CREATE INDEX limits_used ON limits (used_at);

ALTER TABLE queues ADD COLUMN config bytea;
ALTER TABLE queues ADD COLUMN configured_at int8;
ALTER TABLE queue_counts ADD COLUMN bytes int8 NOT NULL DEFAULT 0;

UPDATE queue_counts SET bytes = COALESCE((
    SELECT sum(jobs.size) FROM jobs
    WHERE jobs.queue = queue_counts.queue AND jobs.state IN ('available', 'scheduled', 'retryable')
), 0)
WHERE node = (SELECT min(node) FROM queue_counts AS other WHERE other.queue = queue_counts.queue);

-- Rises with every change of a queue's configuration; each transaction begins by reading it.
INSERT INTO settings (name, value) VALUES ('queue_configs', 0);
