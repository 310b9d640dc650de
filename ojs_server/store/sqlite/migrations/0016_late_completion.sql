-- Late completion: which leases allow it, and who held a job before.

ALTER TABLE leases ADD COLUMN late_ack INTEGER NOT NULL DEFAULT 0;

CREATE TABLE earlier_holders (
    job_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    worker_id TEXT NOT NULL,
    started_at INTEGER,
    PRIMARY KEY (job_id, attempt)
) STRICT, WITHOUT ROWID;
