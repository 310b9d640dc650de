-- Numbers of jobs, for clients that cannot name them by their ids; given when one is first asked for.
CREATE TABLE job_numbers (
    number int8 NOT NULL PRIMARY KEY,
    job_id text COLLATE "C" NOT NULL UNIQUE
);
