-- Late completion: which leases allow it, and who held a job before.

ALTER TABLE leases ADD COLUMN late_ack boolean NOT NULL DEFAULT false;

CREATE TABLE earlier_holders (
    job_id text COLLATE "C" NOT NULL,
    attempt int8 NOT NULL,
    worker_id text COLLATE "C" NOT NULL,
    started_at int8,
    PRIMARY KEY (job_id, attempt)
);
