-- For a job type, the shares of versions among the jobs that name none.

CREATE TABLE routings (
    type TEXT NOT NULL PRIMARY KEY,
    config TEXT NOT NULL
) STRICT, WITHOUT ROWID;
