-- Limits of keys and queues, the configuration of queues, and how many bytes wait in each.
-- A job with a rate key is `gated` while it is none of the next to start: it is then in an index
-- of its own, and a claim does not meet it.

ALTER TABLE jobs ADD COLUMN rate_key TEXT;
ALTER TABLE jobs ADD COLUMN on_limit TEXT;
ALTER TABLE jobs ADD COLUMN gated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN size INTEGER NOT NULL DEFAULT 0;

UPDATE jobs SET size = length(CAST(args AS BLOB)) + length(CAST(meta AS BLOB))
    + length(CAST(spec AS BLOB));

DROP INDEX jobs_claim;
DROP INDEX jobs_claim_type;
-- The claim: each queue's jobs in the order in which they are handed out.
CREATE INDEX jobs_claim ON jobs (queue, priority DESC, seq)
    WHERE state = 'available' AND gated = 0;
-- For fetches that name job types.
CREATE INDEX jobs_claim_type ON jobs (queue, type, priority DESC, seq)
    WHERE state = 'available' AND gated = 0;
-- The next jobs of each key, by queue and type, as a fetch may name either.
CREATE INDEX jobs_rate ON jobs (rate_key, state, queue, type, priority DESC, seq)
    WHERE rate_key IS NOT NULL;
-- The oldest gated jobs of a queue, for queues that drop what is too much.
CREATE INDEX jobs_gated ON jobs (queue, seq) WHERE state = 'available' AND gated = 1;

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

-- Keys that jobs wait for and that time will open.
CREATE INDEX limits_opening ON limits (opens_at) WHERE opens_at IS NOT NULL;
CREATE INDEX limits_used ON limits (used_at);

ALTER TABLE queues ADD COLUMN config TEXT;
ALTER TABLE queues ADD COLUMN configured_at INTEGER;
ALTER TABLE queue_counts ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

UPDATE queue_counts SET bytes = COALESCE((
    SELECT sum(jobs.size) FROM jobs
    WHERE jobs.queue = queue_counts.queue AND jobs.state IN ('available', 'scheduled', 'retryable')
), 0)
WHERE node = (SELECT min(node) FROM queue_counts AS other WHERE other.queue = queue_counts.queue);
