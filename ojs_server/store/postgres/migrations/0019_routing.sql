-- For a job type, the shares of versions among the jobs that name none.

CREATE TABLE routings (
    type text COLLATE "C" NOT NULL PRIMARY KEY,
    config bytea NOT NULL
);
