-- Numbers of jobs, for clients that cannot name them by their ids; given when one is first asked for.
CREATE TABLE job_numbers (
    number INTEGER NOT NULL PRIMARY KEY,
    job_id TEXT NOT NULL UNIQUE
) STRICT;
